"""BigGAN-deep against a second writing of the paper's figure 16, as functions over a state dict."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.networks.biggan_deep import BigGANDeepGenerator
from gantune.networks.catalogue import build_network

WIDTHS = [32, 32, 32, 32, 16]
State = dict[str, Tensor]


def build(**changes: object) -> BigGANDeepGenerator:
    torch.manual_seed(0)
    config = {"widths": WIDTHS, "attention_blocks": [1], "z_dim": 6, "num_classes": 4, "shared_dim": 5}
    network = build_network("biggan_deep", {**config, **changes})
    assert isinstance(network, BigGANDeepGenerator)
    for name, value in network.state_dict().items():
        if name.endswith("stored_mean"):
            value.normal_(0, 0.3)
        elif name.endswith("stored_var"):
            value.uniform_(0.5, 2)
        elif name.endswith("gamma"):
            value.fill_(0.7)
    return network


def weigh(state: State, name: str) -> Tensor:
    weight = state[f"{name}.weight"]
    matrix = weight.reshape(weight.shape[0], -1)
    u = state[f"{name}.u0"].reshape(-1)
    v = torch.mv(matrix.T, u) / torch.mv(matrix.T, u).norm()
    u = torch.mv(matrix, v) / torch.mv(matrix, v).norm()
    return weight / torch.dot(u, torch.mv(matrix, v))


def convolve(state: State, name: str, x: Tensor) -> Tensor:
    weight = weigh(state, name)
    return F.conv2d(x, weight, state.get(f"{name}.bias"), padding=weight.shape[-1] // 2)


def normalize(state: State, name: str, x: Tensor, condition: Tensor | None) -> Tensor:
    mean, var = (state[f"{name}.stored_{kind}"][None, :, None, None] for kind in ("mean", "var"))
    if condition is None:
        gain, bias = state[f"{name}.gain"][None], state[f"{name}.bias"][None]
    else:
        gain = 1 + condition @ weigh(state, f"{name}.gain").T
        bias = condition @ weigh(state, f"{name}.bias").T
    return ((x - mean) / (var + 1e-5).sqrt()) * gain[..., None, None] + bias[..., None, None]


def enlarge(x: Tensor) -> Tensor:
    return x.repeat_interleave(2, 2).repeat_interleave(2, 3)


def attend(state: State, name: str, x: Tensor) -> Tensor:
    n, channels, height, width = x.shape
    theta = convolve(state, f"{name}.theta", x).reshape(n, channels // 8, -1)
    phi = F.max_pool2d(convolve(state, f"{name}.phi", x), 2).reshape(n, channels // 8, -1)
    values = F.max_pool2d(convolve(state, f"{name}.g", x), 2).reshape(n, channels // 2, -1)
    weights = torch.einsum("ncq,nck->nqk", theta, phi).softmax(2)
    attended = torch.einsum("nqk,nck->ncq", weights, values).reshape(n, channels // 2, height, width)
    return x + state[f"{name}.gamma"] * convolve(state, f"{name}.o", attended)


def reference(state: State, z: Tensor, y: Tensor, *, hierarchical: bool) -> Tensor:
    embedded = state["shared.weight"][y]
    condition = torch.cat([embedded, z], 1) if hierarchical else embedded
    first = condition if hierarchical else z
    x = (first @ weigh(state, "linear").T + state["linear.bias"]).reshape(len(z), WIDTHS[0], 4, 4)
    for block in range(4):
        name = f"blocks.{block}.0"
        hidden = convolve(state, f"{name}.conv1", normalize(state, f"{name}.bn1", x, condition).relu())
        hidden = normalize(state, f"{name}.bn2", hidden, condition).relu()
        skip = x[:, : WIDTHS[block + 1]]
        if block % 2:
            hidden, skip = enlarge(hidden), enlarge(skip)
        hidden = convolve(state, f"{name}.conv2", hidden)
        hidden = convolve(state, f"{name}.conv3", normalize(state, f"{name}.bn3", hidden, condition).relu())
        hidden = convolve(state, f"{name}.conv4", normalize(state, f"{name}.bn4", hidden, condition).relu())
        x = hidden + skip
        if block == 1:
            x = attend(state, f"{name[:-1]}1", x)
    return convolve(state, "output_layer.2", normalize(state, "output_layer.0", x, None).relu()).tanh()


def test_the_paper_written_as_functions_gives_the_same_image() -> None:
    for hierarchical in (True, False):
        network = build(hierarchical=hierarchical).double()
        z, y = torch.randn(3, 6, dtype=torch.float64), torch.tensor([0, 3, 1])
        image = network(z, y)
        expected = reference(network.state_dict(), z, y, hierarchical=hierarchical)
        assert image.shape == (3, 3, 16, 16)
        torch.testing.assert_close(image, expected, rtol=1e-9, atol=1e-9)


def test_the_published_shape_is_the_default() -> None:
    with torch.device("meta"):
        network = BigGANDeepGenerator()
    assert network.resolution == 128
    # Table 7: attention at 64 × 64, in the 512 channels before the last width.
    assert tuple(network.get_parameter("blocks.7.1.theta.weight").shape) == (32, 256, 1, 1)


def test_one_hot_classes_give_the_image_of_their_index() -> None:
    network = build()
    inputs = network.sample_inputs(2, 0)
    one_hot = F.one_hot(inputs["y"], 4).float()
    torch.testing.assert_close(network(inputs["z"], one_hot), network(**inputs))
