import numpy as np
import pytest

from gantune.errors import UsageError
from gantune.records.interface import InputSpec
from gantune.runtime.inputs import InputValue, prepare_inputs

Z = InputSpec(name="z", kind="latent", shape=("N", 4))
LABEL = InputSpec(name="c", kind="class", shape=("N",), dtype="int64", high=9)
IMAGE = InputSpec(name="image", kind="image", shape=("N", 3, "H", "W"), low=0, high=1)
PSI = InputSpec(name="truncation_psi", kind="scalar", shape=(), default=0.7)
SPECS = (Z, LABEL, PSI)


def good() -> dict[str, InputValue]:
    return {"z": np.zeros((2, 4), np.float32), "c": np.array([0, 9])}


def test_a_scalar_left_out_takes_its_default_and_order_is_the_artifacts() -> None:
    arrays = prepare_inputs(SPECS, {"c": good()["c"], "z": good()["z"]})
    assert list(arrays) == ["z", "c", "truncation_psi"]
    assert arrays["truncation_psi"].dtype == np.float32
    assert arrays["truncation_psi"].shape == ()
    assert float(arrays["truncation_psi"]) == pytest.approx(0.7)


def test_strided_arrays_are_made_contiguous() -> None:
    strided = np.arange(16, dtype=np.float32).reshape(2, 8)[:, ::2]
    prepared = prepare_inputs((Z,), {"z": strided})["z"]
    assert prepared.flags.c_contiguous
    np.testing.assert_array_equal(prepared, strided)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"z": np.zeros((2, 4))}, r"'z' is float64; it must be float32: pass z\.astype\(numpy\.float32\)"),
        ({"z": np.zeros((2, 5), np.float32)}, r"'z' has shape \[2, 5\]; it must be \[N, 4\]"),
        ({"z": np.zeros(4, np.float32)}, r"'z' has shape \[4\]; it must be \[N, 4\]"),
        ({"z": np.zeros((0, 4), np.float32)}, "'z' has size 0 in dimension 0"),
        ({"z": np.full((2, 4), np.nan, np.float32)}, "'z' holds NaN or infinity"),
        ({"z": 1.0}, "'z' is a float; it must be a numpy array"),
        ({"z": [[0.0] * 4]}, "'z' is a list; it must be a numpy array"),
        ({"c": np.array([0, 1, 2])}, "'c' has N = 3 where 'z' has N = 2"),
        ({"c": np.array([0, 10])}, r"'c' holds values from 0 to 10; they must lie in \[0.0, 9.0\]"),
        ({"c": np.array([-1, 0])}, "'c' holds values from -1 to 0"),
        (
            {"truncation_psi": np.ones(2, np.float32)},
            "'truncation_psi' has shape .*; it must be a single number",
        ),
        ({"truncation_psi": float("inf")}, "'truncation_psi' holds NaN or infinity"),
        ({"truncation_psi": True}, "'truncation_psi' is a bool"),
        ({"seed": 1.0}, r"'seed' is unknown; the artifact takes: z \[N, 4\] float32, c \[N\] int64, trunc"),
    ],
)
def test_a_wrong_input_is_refused_in_one_sentence(change: dict[str, InputValue], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        prepare_inputs(SPECS, good() | change)
    assert "\n" not in str(caught.value)


def test_a_missing_input_is_named_with_what_the_artifact_takes() -> None:
    with pytest.raises(UsageError, match=r"'z' is missing; .*truncation_psi scalar \(default 0\.7\)"):
        prepare_inputs(SPECS, {"c": np.array([1])})


def test_an_image_in_bytes_range_is_refused_and_rounding_is_allowed() -> None:
    picture = np.full((1, 3, 5, 7), 255, np.float32)
    with pytest.raises(UsageError, match="values from 255 to 255"):
        prepare_inputs((IMAGE,), {"image": picture})
    prepare_inputs((IMAGE,), {"image": picture / 254.99})
