"""What upfirdn2d can be asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from gantune.errors import UsageError
from gantune.ops.padding import Padding, parse_factor, parse_padding


@dataclass(frozen=True)
class Upfirdn2dOptions:
    """Factors, padding (on the upsampled image), orientation of the filter and gain of the output."""

    up_x: int = 1
    up_y: int = 1
    down_x: int = 1
    down_y: int = 1
    padding: Padding = Padding(0, 0, 0, 0)  # noqa: RUF009  (a NamedTuple is immutable)
    flip_filter: bool = False
    gain: float = 1.0

    def output_size(self, height: int, width: int, *, taps_y: int, taps_x: int) -> tuple[int, int]:
        """Return the height and width of the result for an input of `height` × `width`."""
        padding = self.padding
        full_y = height * self.up_y + padding.y0 + padding.y1 - taps_y
        full_x = width * self.up_x + padding.x0 + padding.x1 - taps_x
        return full_y // self.down_y + 1, full_x // self.down_x + 1

    def check_size(self, height: int, width: int, *, taps_y: int, taps_x: int) -> None:
        """Raise UsageError where the padded image is smaller than the filter."""
        out_y, out_x = self.output_size(height, width, taps_y=taps_y, taps_x=taps_x)
        if out_y < 1 or out_x < 1:
            raise UsageError(
                f"the result would be {out_y} × {out_x}: an image of {height} × {width} with padding "
                f"{tuple(self.padding)} is smaller than the filter ({taps_y} × {taps_x}); add padding"
            )


def parse_options(
    up: int | Sequence[int],
    down: int | Sequence[int],
    padding: int | Sequence[int],
    *,
    flip_filter: bool,
    gain: float,
) -> Upfirdn2dOptions:
    """Read the options from the forms the field writes them in; raise UsageError for wrong ones."""
    up_x, up_y = parse_factor(up, name="up")
    down_x, down_y = parse_factor(down, name="down")
    return Upfirdn2dOptions(up_x, up_y, down_x, down_y, parse_padding(padding), flip_filter, float(gain))
