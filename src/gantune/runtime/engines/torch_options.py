"""What an artifact's options tell the torch engine: device, TF32, CUDA graphs."""

from dataclasses import dataclass
from typing import Literal, cast

from gantune.errors import CheckpointError
from gantune.records.artifact import Artifact
from gantune.runtime.engines.float32_products import Float32Products

Device = Literal["cpu", "cuda"]
DEVICES: tuple[Device, ...] = ("cpu", "cuda")
PRODUCTS: tuple[Float32Products, ...] = ("ieee", "tf32")


@dataclass(frozen=True)
class TorchOptions:
    """Say where a program runs; the rest matters on "cuda" only.

    `float32_products` "tf32" is faster and keeps 11 bits. `uses_cuda_graphs` replays the first few shapes of
    inputs as one graph each.
    """

    device: Device = "cpu"
    float32_products: Float32Products = "ieee"
    uses_cuda_graphs: bool = True

    def __post_init__(self) -> None:
        _check("device", self.device, DEVICES)
        _check("float32_products", self.float32_products, PRODUCTS)
        _check("cuda_graphs", self.uses_cuda_graphs, (True, False))


def read_torch_options(artifact: Artifact) -> TorchOptions:
    """Read `device`, `float32_products` and `cuda_graphs`; raise CheckpointError for a value not known."""
    options = artifact.options
    return TorchOptions(
        device=cast(Device, options.get("device", "cpu")),
        float32_products=cast(Float32Products, options.get("float32_products", "ieee")),
        uses_cuda_graphs=cast(bool, options.get("cuda_graphs", True)),
    )


def _check(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise CheckpointError(f"option {name} is {value!r}; it must be one of {', '.join(map(str, allowed))}")
