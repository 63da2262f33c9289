"""How much memory and how many steps reading one file may take."""

from gantune.errors import CheckpointError

MAX_OPERATIONS = 2_000_000
MAX_UNUSUAL_KEYS = 20_000
_BYTES_PER_FILE_BYTE = 3
_SLACK_BYTES = 65536


class ReadingBudget:
    """Count bytes built, pickle operations and unusual keys; refuse more than an honest file needs.

    A tensor nested in a pickle is counted twice, as bytes and as numbers: three times the file is
    room for all.
    """

    def __init__(self, file_bytes: int) -> None:
        self._bytes_left = _BYTES_PER_FILE_BYTE * file_bytes + _SLACK_BYTES
        self._operations_left = MAX_OPERATIONS
        self._unusual_keys_left = MAX_UNUSUAL_KEYS

    def spend_bytes(self, count: int, what: str) -> None:
        """Take `count` bytes for `what`; raise `CheckpointError` beyond the size of the file."""
        if count < 0 or count > self._bytes_left:
            raise CheckpointError(
                f"The file claims {count} bytes for {what}, more than it can hold: it is damaged or hostile."
            )
        self._bytes_left -= count

    def spend_operations(self, count: int = 1) -> None:
        """Count pickle operations, of this pickle or of one nested in it; copying an item counts as one."""
        self._operations_left -= count
        if self._operations_left < 0:
            raise CheckpointError(
                f"The pickle has more than {MAX_OPERATIONS} operations, more than any checkpoint needs."
            )

    def spend_unusual_key(self) -> None:
        """Count a dictionary key that is not text: crafted numbers could make a table quadratic."""
        self._unusual_keys_left -= 1
        if self._unusual_keys_left < 0:
            raise CheckpointError(
                f"The pickle has more than {MAX_UNUSUAL_KEYS} keys that are not text; no checkpoint does."
            )
