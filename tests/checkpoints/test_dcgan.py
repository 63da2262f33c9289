from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gantune.checkpoints import load, load_checkpoint
from gantune.checkpoints.dcgan import split_latent
from gantune.errors import CheckpointError


def save(folder: Path, content: object) -> Path:
    path = folder / "weights.tar"
    torch.save(content, path)
    return path


def twin(*, inputs: int = 100, dropout: bool = False, norm: bool = True, bias: bool = False) -> nn.Sequential:
    """Build the tutorial's generator, small, with statistics that are not those of a fresh one."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    widths = [inputs, 16, 8, 4]
    for index in range(3):
        stride, padding = (1, 0) if index == 0 else (2, 1)
        layers.append(nn.ConvTranspose2d(widths[index], widths[index + 1], 4, stride, padding, bias=bias))
        layers += [nn.BatchNorm2d(widths[index + 1])] if norm or index == 1 else []
        layers.append(nn.ReLU())
        layers += [nn.Dropout(0.2)] if dropout and index == 0 else []
    network = nn.Sequential(*layers, nn.ConvTranspose2d(4, 3, 4, 2, 1, bias=bias), nn.Tanh())
    for module in network:
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean)  # type: ignore[arg-type]
            nn.init.uniform_(module.running_var, 0.5, 2)  # type: ignore[arg-type]
    return network.eval().requires_grad_(False)


def named(network: nn.Module, prefix: str = "main") -> dict[str, Tensor]:
    return {f"{prefix}.{name}": tensor for name, tensor in network.state_dict().items()}


@pytest.mark.parametrize("wrapper", [None, "netG_state_dict", "generator", "state_dict"])
@pytest.mark.parametrize(
    "options",
    [{}, {"dropout": True}, {"norm": False}, {"bias": True}, {"inputs": 64}],
    ids=lambda options: next(iter(options), "plain"),
)
def test_a_sequential_gives_the_same_image(
    tmp_path: Path, wrapper: str | None, options: dict[str, int | bool]
) -> None:
    expected = twin(**options)  # type: ignore[arg-type]
    state = named(expected)
    content = {wrapper: state, "epoch": 3, "netD_state_dict": {}} if wrapper else state
    network = load(save(tmp_path, content))
    z = torch.randn(2, network.z_dim)
    image = expected(z[:, :, None, None])
    assert image.shape == (2, 3, 32, 32)
    torch.testing.assert_close(network(z), image)


def test_a_dropout_is_inferred_from_the_gap_it_leaves(tmp_path: Path) -> None:
    for dropout in (False, True):
        checkpoint = load_checkpoint(save(tmp_path, named(twin(dropout=dropout))))
        rates = [layer["dropout"] for layer in checkpoint.generator.config["layers"]]
        assert [rate > 0 for rate in rates] == [dropout, False, False, False]
        assert ("dropout" in str(checkpoint.metadata["assumptions"])) == dropout


def test_a_one_hot_class_behind_the_latent_is_inferred_and_told(tmp_path: Path) -> None:
    expected = twin(inputs=108)
    checkpoint = load_checkpoint(save(tmp_path, named(expected)))
    network = checkpoint.generator
    assert (network.z_dim, network.num_classes) == (100, 8)
    assert "last 8 are a one-hot class" in str(checkpoint.metadata["assumptions"])
    z, y = torch.randn(2, 100), torch.tensor([7, 2])
    joined = torch.cat([z, nn.functional.one_hot(y, 8)], 1)[:, :, None, None]
    torch.testing.assert_close(network(z, y), expected(joined))


def test_a_class_embedding_is_inferred(tmp_path: Path) -> None:
    table = nn.Embedding(10, 6)
    expected = twin(inputs=38)
    network = load(save(tmp_path, {"label_emb.weight": table.weight.data, **named(expected)}))
    assert (network.z_dim, network.num_classes) == (32, 10)
    z, y = torch.randn(2, 32), torch.tensor([9, 0])
    joined = torch.cat([z, table.weight.data[y]], 1)[:, :, None, None]
    torch.testing.assert_close(network(z, y), expected(joined))


@pytest.mark.parametrize(
    ("num_inputs", "expected"),
    [
        (100, (100, 0)),
        (64, (64, 0)),
        (62, (62, 0)),
        (128, (128, 0)),
        (200, (200, 0)),
        (108, (100, 8)),
        (110, (100, 10)),
        (138, (128, 10)),
    ],
)
def test_usual_latents_are_told_from_latents_with_a_class(num_inputs: int, expected: tuple[int, int]) -> None:
    assert split_latent(num_inputs) == expected


def test_names_of_attributes_load_with_all_norms_behind_all_convolutions(tmp_path: Path) -> None:
    expected = twin()
    renamed = {0: "conv1", 3: "conv2", 6: "conv3", 9: "conv4", 1: "bn1", 4: "bn2", 7: "bn3"}
    state = {}
    for position in (0, 3, 6, 9, 1, 4, 7):
        for name, tensor in expected[position].state_dict().items():
            state[f"{renamed[position]}.{name}"] = tensor
    z = torch.randn(2, 100)
    torch.testing.assert_close(load(save(tmp_path, state))(z), expected(z[:, :, None, None]))


def test_extra_plain_convolutions_and_other_first_sizes_load(tmp_path: Path) -> None:
    torch.manual_seed(0)
    expected = nn.Sequential(
        nn.ConvTranspose2d(50, 12, 7, 1, 0),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.Conv2d(12, 6, 3, 1, 1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.ConvTranspose2d(6, 8, 2, 2, 0),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 5, 2, 2, output_padding=1),
        nn.Tanh(),
    ).eval()
    z = torch.randn(2, 50)
    with torch.no_grad():
        image = expected(z[:, :, None, None])
    assert image.shape == (2, 1, 28, 28)
    torch.testing.assert_close(load(save(tmp_path, named(expected, "net")))(z), image)


def test_files_from_before_the_batch_counter_load(tmp_path: Path) -> None:
    state = {name: value for name, value in named(twin()).items() if "num_batches" not in name}
    assert load(save(tmp_path, state)).family == "dcgan"


@pytest.mark.parametrize(
    ("shape", "message"), [((8, 4, 3, 3), "its stride cannot be told"), ((8, 4, 4, 2), "must be square")]
)
def test_a_layer_whose_stride_does_not_show_is_refused(
    tmp_path: Path, shape: tuple[int, ...], message: str
) -> None:
    state = {**named(twin()), "main.6.weight": torch.zeros(shape)}
    with pytest.raises(CheckpointError, match=message):
        load(save(tmp_path, state))


def test_modules_that_leave_no_weights_are_refused_where_a_dropout_does_not_explain_them(
    tmp_path: Path,
) -> None:
    state = {name.replace("main.9.", "main.12."): value for name, value in named(twin()).items()}
    with pytest.raises(CheckpointError, match=r"5 modules stand between main.6 and main.12"):
        load(save(tmp_path, state))


def test_norms_that_follow_no_convolution_are_refused(tmp_path: Path) -> None:
    state = named(twin())
    for kind in ("weight", "bias", "running_mean", "running_var"):
        state[f"main.4.{kind}"] = torch.ones(5)
    with pytest.raises(CheckpointError, match="do not fit behind the convolutions"):
        load(save(tmp_path, state))


def test_another_convolutional_network_is_not_taken_for_a_dcgan(tmp_path: Path) -> None:
    classifier = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 16, 3), nn.Conv2d(16, 32, 3), nn.Linear(32, 10)
    )
    with pytest.raises(CheckpointError, match="not a checkpoint gantune knows"):
        load(save(tmp_path, classifier.state_dict()))
