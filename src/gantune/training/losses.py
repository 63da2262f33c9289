"""What a GAN learns from: adversarial losses and the two penalties with second derivatives."""

import torch
import torch.nn.functional as F
from torch import Tensor

from gantune.errors import UsageError

LOSS_NAMES = ("logistic", "hinge")


def generator_loss(fake_logits: Tensor, *, loss: str = "logistic") -> Tensor:
    """Return the generator's loss [N, 1]: softplus(−logits), non-saturating, or −logits for the hinge.

    Goodfellow et al., arXiv 1406.2661, section 3. Raise `UsageError` for an unknown `loss`.
    """
    _check_name(loss)
    return F.softplus(-fake_logits) if loss == "logistic" else -fake_logits


def discriminator_loss(logits: Tensor, *, is_real: bool, loss: str = "logistic") -> Tensor:
    """Return the discriminator's loss [N, 1] for real or for fake images: softplus(∓logits), or its hinge.

    The hinge is relu(1 ∓ logits) (Lim and Ye, arXiv 1705.02894). Raise `UsageError` for an unknown `loss`.
    """
    _check_name(loss)
    margin = -logits if is_real else logits
    return F.softplus(margin) if loss == "logistic" else F.relu(1 + margin)


def r1_penalty(logits: Tensor, images: Tensor) -> Tensor:
    """Return |∂Σlogits/∂image|² [N], differentiable; `images` must require a gradient.

    Mescheder et al., arXiv 1801.04406. Squares are summed and no root is taken: finite where the slope is 0.
    """
    (slope,) = torch.autograd.grad(logits.float().sum(), images, create_graph=True)
    return slope.float().square().sum(dim=(1, 2, 3))


def path_lengths(images: Tensor, ws: Tensor, directions: Tensor) -> Tensor:
    """Return the length [N] of ∂Σ(images · directions)/∂ws, root mean square over the layers; differentiable.

    `directions` [N, C, H, W] is normal noise divided by √(H·W). Karras et al., arXiv 1912.04958, section 3.2.
    """
    (slope,) = torch.autograd.grad((images.float() * directions).sum(), ws, create_graph=True)
    # The root's derivative at 0 would be infinite.
    return (slope.float().square().sum(dim=2).mean(dim=1) + 1e-12).sqrt()


def path_length_penalty(lengths: Tensor, mean_length: Tensor) -> Tensor:
    """Return the squared distance [N] of each length from the running mean."""
    return (lengths - mean_length).square()


def _check_name(loss: str) -> None:
    if loss not in LOSS_NAMES:
        raise UsageError(f"There is no adversarial loss {loss!r}; allowed: {', '.join(LOSS_NAMES)}.")
