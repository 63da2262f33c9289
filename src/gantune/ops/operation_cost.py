"""The work an operation cannot avoid, to be compared with what the machine can do."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OperationCost:
    """Floating-point operations (a multiply-add is two), and bytes moved when each is touched once."""

    flops: int
    moved_bytes: int

    def fastest_ms(self, *, flops_per_s: float, bytes_per_s: float) -> float:
        """Return the time in milliseconds below which a machine of these two limits cannot come."""
        return 1e3 * max(self.flops / flops_per_s, self.moved_bytes / bytes_per_s)
