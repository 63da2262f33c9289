"""What BigGAN and BigGAN-deep have in common: normalization, attention, class embedding, output."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.batch_statistics import normalize_batch
from gantune.networks.spectral_norm import SpectralConv2d, SpectralLinear
from gantune.records.interface import InputSpec

NORM_EPSILON = 1e-5


class StoredNorm(nn.Module):
    """Normalize [N, C, H, W] with stored statistics, then apply a gain and a bias of one value a channel.

    In training the statistics are those of the batch, and the stored ones follow them.
    """

    stored_mean: Tensor
    stored_var: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("stored_mean", torch.zeros(width))
        self.register_buffer("stored_var", torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized `x`."""
        if self.training:
            normalized = normalize_batch(x, self.stored_mean, self.stored_var, eps=NORM_EPSILON)
            return normalized * self.gain[:, None, None] + self.bias[:, None, None]
        return F.batch_norm(x, self.stored_mean, self.stored_var, self.gain, self.bias, eps=NORM_EPSILON)


class ConditionalNorm(nn.Module):
    """Normalize [N, C, H, W] with stored statistics; gain and bias are linear in a condition [N, K].

    The gain is 1 + linear(condition); in training the statistics are those of the batch.
    Source: Brock et al., BigGAN, arXiv 1809.11096, appendix B.
    """

    stored_mean: Tensor
    stored_var: Tensor

    def __init__(self, width: int, condition_width: int) -> None:
        super().__init__()
        self.gain = SpectralLinear(condition_width, width, bias=False)
        self.bias = SpectralLinear(condition_width, width, bias=False)
        self.register_buffer("stored_mean", torch.zeros(width))
        self.register_buffer("stored_var", torch.ones(width))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Return the normalized `x` under `condition`."""
        if self.training:
            normalized = normalize_batch(x, self.stored_mean, self.stored_var, eps=NORM_EPSILON)
        else:
            normalized = F.batch_norm(x, self.stored_mean, self.stored_var, eps=NORM_EPSILON)
        gain, bias = 1 + self.gain(condition), self.bias(condition)
        result: Tensor = normalized * gain[:, :, None, None] + bias[:, :, None, None]
        return result


class SelfAttention(nn.Module):
    """Let every position read all others, on a grid of half the size (H and W even).

    Source: Zhang et al., Self-attention GAN, arXiv 1805.08318, with the keys and values max-pooled.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        if width < 8:
            raise UsageError(f"Attention on {width} channels has no keys; it needs at least 8.")
        self.theta = SpectralConv2d(width, width // 8, 1, bias=False)
        self.phi = SpectralConv2d(width, width // 8, 1, bias=False)
        self.g = SpectralConv2d(width, width // 2, 1, bias=False)
        self.o = SpectralConv2d(width // 2, width, 1, bias=False)
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def forward(self, x: Tensor) -> Tensor:
        """Return x + gamma · attended, [N, C, H, W]."""
        queries = self.theta(x).flatten(2)  # [N, C/8, HW]
        keys = F.max_pool2d(self.phi(x), 2).flatten(2)  # [N, C/8, HW/4]
        values = F.max_pool2d(self.g(x), 2).flatten(2)  # [N, C/2, HW/4]
        attention = torch.softmax(queries.transpose(1, 2) @ keys, dim=-1)  # [N, HW, HW/4]
        attended = (values @ attention.transpose(1, 2)).reshape(*values.shape[:2], *x.shape[2:])
        result: Tensor = x + self.gamma * self.o(attended)
        return result


def check_attention(attention_blocks: Sequence[int], *, num_blocks: int) -> None:
    """Raise `UsageError` where attention is asked for behind a block that is not there."""
    for position in attention_blocks:
        if not 0 <= position < num_blocks:
            raise UsageError(
                f"Attention is asked for behind block {position}; this network has {num_blocks} blocks, 0 to "
                f"{num_blocks - 1}."
            )


def build_output_layer(width: int, img_channels: int) -> nn.Sequential:
    """Build the last layers: normalization, ReLU, 3×3 convolution; tanh follows them."""
    return nn.Sequential(StoredNorm(width), nn.ReLU(), SpectralConv2d(width, img_channels, 3, padding=1))


def embed_classes(embedding: nn.Embedding, y: Tensor) -> Tensor:
    """Look up the shared embedding [N, K] of class indices [N] (int64) or one-hot [N, num_classes].

    Raise `UsageError` for any other shape: an embedding must not be passed in place of the class.
    """
    if not y.is_floating_point() and y.dim() == 1:
        result: Tensor = embedding(y)
        return result
    if y.dim() == 2 and y.shape[1] == embedding.num_embeddings:
        return y.to(embedding.weight.dtype) @ embedding.weight
    raise UsageError(
        f"y has shape {tuple(y.shape)} and type {y.dtype}; it must be class indices [N] (int64) or one-hot "
        f"classes [N, {embedding.num_embeddings}]."
    )


def list_latent_and_class(z_dim: int, num_classes: int) -> tuple[InputSpec, ...]:
    """List the inputs `z` [N, z_dim], standard normal, and `y` [N], a class index."""
    return (
        InputSpec(name="z", kind="latent", shape=("N", z_dim)),
        InputSpec(name="y", kind="class", shape=("N",), dtype="int64", low=0, high=num_classes - 1),
    )
