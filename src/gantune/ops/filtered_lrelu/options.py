"""What filtered_lrelu can be asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from gantune.errors import UsageError
from gantune.ops.bias_act.options import parse_clamp
from gantune.ops.padding import Padding, parse_padding
from gantune.ops.upfirdn2d.options import Upfirdn2dOptions


@dataclass(frozen=True)
class FilteredLreluOptions:
    """Factors, padding (on the upsampled image), and the activation's gain, slope and clamp."""

    up: int
    down: int
    padding: Padding
    gain: float
    slope: float
    clamp: float | None
    flip_filter: bool

    def __post_init__(self) -> None:
        if self.up < 1 or self.down < 1:
            raise UsageError(f"up and down are whole numbers of at least 1, found {self.up} and {self.down}")

    @property
    def up_options(self) -> Upfirdn2dOptions:
        """The upfirdn2d before the activation; its gain up² makes up for the inserted zeros."""
        return Upfirdn2dOptions(
            self.up, self.up, 1, 1, self.padding, self.flip_filter, float(self.up * self.up)
        )

    @property
    def down_options(self) -> Upfirdn2dOptions:
        """The upfirdn2d after the activation."""
        return Upfirdn2dOptions(down_x=self.down, down_y=self.down, flip_filter=self.flip_filter)


def parse_options(
    up: int,
    down: int,
    padding: int | Sequence[int],
    *,
    gain: float,
    slope: float,
    clamp: float | None,
    flip_filter: bool,
) -> FilteredLreluOptions:
    """Read the options from the forms the field writes them in; raise UsageError for wrong ones."""
    return FilteredLreluOptions(
        up, down, parse_padding(padding), float(gain), float(slope), parse_clamp(clamp), flip_filter
    )
