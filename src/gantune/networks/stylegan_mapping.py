"""The mapping network of StyleGAN: a latent z and a label c become the w of every layer."""

from itertools import chain

import torch
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from gantune.errors import UsageError
from gantune.networks.equalized import EqualizedLinear
from gantune.records.interface import InputSpec


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class MappingOptions:
    """Choose the shape of a mapping network: a width of None is `w_dim`, a beta of None keeps no average."""

    num_layers: int = Field(default=8, ge=1)
    embed_features: int | None = Field(default=None, ge=1)
    layer_features: int | None = Field(default=None, ge=1)
    activation: str = "lrelu"
    lr_multiplier: float = Field(default=0.01, gt=0)
    w_avg_beta: float | None = 0.998


class MappingNetwork(nn.Module):
    """Map z [N, z_dim] and c [N, c_dim] to ws [N, num_ws, w_dim], or to w [N, w_dim] where `num_ws` is None.

    Karras et al. (arXiv 1812.04948, 1912.04958); `z_dim` 0 maps labels alone, as a
    conditional discriminator does.
    """

    w_avg: Tensor | None

    def __init__(
        self,
        z_dim: int,
        c_dim: int,
        w_dim: int,
        num_ws: int | None,
        *,
        options: MappingOptions,
    ) -> None:
        super().__init__()
        self.z_dim = z_dim
        self.c_dim = c_dim
        self.w_dim = w_dim
        self.num_ws = num_ws
        self.num_layers = options.num_layers
        self.w_avg_beta = options.w_avg_beta
        embed_features = (options.embed_features or w_dim) if c_dim > 0 else 0
        if c_dim > 0:
            self.embed = EqualizedLinear(c_dim, embed_features)
        hidden = options.layer_features or w_dim
        widths = [z_dim + embed_features, *[hidden] * (self.num_layers - 1), w_dim]
        for index in range(self.num_layers):
            layer = EqualizedLinear(
                widths[index],
                widths[index + 1],
                activation=options.activation,
                lr_multiplier=options.lr_multiplier,
            )
            self.add_module(f"fc{index}", layer)
        average = None if num_ws is None or self.w_avg_beta is None else torch.zeros(w_dim)
        self.register_buffer("w_avg", average)

    def forward(
        self,
        z: Tensor | None,
        c: Tensor | None = None,
        truncation_psi: float | Tensor = 1,
        truncation_cutoff: int | None = None,
        *,
        update_emas: bool = False,
    ) -> Tensor:
        """Return the ws; truncation is w_avg + psi·(w − w_avg) on the first `truncation_cutoff` layers.

        `truncation_psi` may be a tensor of one element, so that an exported network takes it as an input.
        `update_emas` moves `w_avg` towards the mean of this batch.
        Raise `UsageError` for an input of a wrong shape.
        """
        x = self._join_inputs(z, c)
        for index in range(self.num_layers):
            x = getattr(self, f"fc{index}")(x)
        if update_emas and self.w_avg is not None and self.w_avg_beta is not None:
            self.w_avg.copy_(x.detach().mean(dim=0).lerp(self.w_avg, self.w_avg_beta))
        if self.num_ws is None:
            return x
        ws = x.unsqueeze(1).expand(-1, self.num_ws, -1)
        return self._truncate(ws, truncation_psi, truncation_cutoff)

    def _join_inputs(self, z: Tensor | None, c: Tensor | None) -> Tensor:
        dtype = next(chain(self.parameters(), self.buffers())).dtype
        parts = []
        if self.z_dim > 0:
            parts.append(normalize_second_moment(_checked(z, "z", self.z_dim).to(dtype)))
        if self.c_dim > 0:
            parts.append(normalize_second_moment(self.embed(_checked(c, "c", self.c_dim).to(dtype))))
        return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]

    def _truncate(self, ws: Tensor, psi: float | Tensor, cutoff: int | None) -> Tensor:
        # A tensor is never compared: its value is unknown while a network is exported.
        if not isinstance(psi, Tensor) and psi == 1:
            return ws
        if self.w_avg is None:
            raise UsageError(
                "Truncation needs an average w, and this mapping network keeps none; leave psi at 1."
            )
        truncated = self.w_avg + psi * (ws - self.w_avg)
        if cutoff is None:
            return truncated
        return torch.cat([truncated[:, :cutoff], ws[:, cutoff:]], dim=1)


def normalize_second_moment(x: Tensor) -> Tensor:
    """Scale each row of x [N, K] to a mean square of 1 (PixelNorm)."""
    return x * (x.square().mean(dim=1, keepdim=True) + 1e-8).rsqrt()


def mapping_inputs(z_dim: int, c_dim: int) -> tuple[InputSpec, ...]:
    """Describe the inputs of a mapping network: the latent z and, where `c_dim` > 0, the one-hot label c."""
    latent = InputSpec(name="z", kind="latent", shape=("N", z_dim))
    if c_dim == 0:
        return (latent,)
    return latent, InputSpec(name="c", kind="class", shape=("N", c_dim), low=0, high=1)


def _checked(x: Tensor | None, name: str, width: int) -> Tensor:
    if x is None:
        raise UsageError(f"The network needs the input {name} of shape [N, {width}], and none was given.")
    if x.ndim != 2 or x.shape[1] != width:
        raise UsageError(f"The input {name} has the shape {list(x.shape)}; the network takes [N, {width}].")
    return x
