"""Which networks a script calls, which optimizer trains which, and which of them is the generator."""

import re
from collections.abc import Iterator

from torch import Tensor, nn
from torch.optim import Optimizer

_GENERATOR = re.compile(r"gen|^G$|G_|netG|synthes|decoder|mapping", re.IGNORECASE)
_DISCRIMINATOR = re.compile(r"disc|critic|^D$|D_|netD|adversar", re.IGNORECASE)
Role = str
GENERATOR_ROLE, DISCRIMINATOR_ROLE = "generator", "discriminator"


class Players:
    """Collect the networks called from outside of any other, with what flows between them."""

    def __init__(self) -> None:
        self.roots: list[nn.Module] = []
        self.paths: dict[int, str] = {}
        self._outputs: dict[int, int] = {}
        self._feeds: set[tuple[int, int]] = set()
        self._ranks: dict[int, int] = {}

    def enter(self, root: nn.Module, inputs: tuple[object, ...]) -> int:
        """Take the call of a root; give its number."""
        number = next((place for place, known in enumerate(self.roots) if known is root), -1)
        if number < 0:
            number = len(self.roots)
            self.roots.append(root)
            kind = type(root).__name__
            for name, module in root.named_modules():
                self.paths.setdefault(id(module), f"{kind}.{name}" if name else kind)
        for tensor in tensors_in(inputs):
            source = self._outputs.get(_storage(tensor))
            if source is not None and source != number:
                self._feeds.add((source, number))
        return number

    def leave(self, number: int, output: object) -> None:
        """Take what a root gave."""
        for tensor in tensors_in(output):
            self._outputs[_storage(tensor)] = number
            self._ranks[number] = tensor.dim()

    def name_roles(self, optimizers: list[Optimizer]) -> list[Role | None]:
        """Say of every optimizer whether it trains the generator or the discriminator, None where unknown.

        A network whose output another one judges is the generator; else class names decide, else shapes:
        a generator gives images and a discriminator scores.
        """
        owned = [self._roots_of(optimizer) for optimizer in optimizers]
        roles: list[Role | None] = [None] * len(optimizers)
        for source, target in self._feeds:
            makers = [place for place, roots in enumerate(owned) if source in roots and target not in roots]
            judges = [place for place, roots in enumerate(owned) if target in roots and source not in roots]
            if makers and judges:
                roles[makers[0]], roles[judges[0]] = GENERATOR_ROLE, DISCRIMINATOR_ROLE
        for place, roots in enumerate(owned):
            if roles[place] is None and roots and len(optimizers) > 1:
                roles[place] = self._guess(roots)
        return roles

    def name_owners(self, optimizers: list[Optimizer]) -> list[int | None]:
        """Give for every root the first optimizer that trains it."""
        owned = [self._roots_of(optimizer) for optimizer in optimizers]
        return [
            next((place for place, roots in enumerate(owned) if root in roots), None)
            for root in range(len(self.roots))
        ]

    def _roots_of(self, optimizer: Optimizer) -> set[int]:
        trained = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
        return {
            place
            for place, root in enumerate(self.roots)
            if any(id(weight) in trained for weight in root.parameters())
        }

    def _guess(self, roots: set[int]) -> Role | None:
        names = [type(self.roots[place]).__name__ for place in roots]
        for role, pattern in ((DISCRIMINATOR_ROLE, _DISCRIMINATOR), (GENERATOR_ROLE, _GENERATOR)):
            if any(pattern.search(name) for name in names):
                return role
        ranks = {self._ranks.get(place, 0) for place in roots}
        if max(ranks) >= 4:
            return GENERATOR_ROLE
        return DISCRIMINATOR_ROLE if max(ranks) > 0 else None


def tensors_in(value: object) -> Iterator[Tensor]:
    """Walk the tensors of an argument, one level of lists, tuples and dictionaries deep."""
    items = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    )
    for item in items:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, list | tuple):
            yield from (inner for inner in item if isinstance(inner, Tensor))


def _storage(tensor: Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return id(tensor)
