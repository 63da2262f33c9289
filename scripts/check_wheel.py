"""Check that an installed wheel holds the C++ kernels and that they load, without torch or a compiler."""

import ctypes
import sys
from importlib.metadata import files


def main() -> int:
    """Load the library of the installed gantune and name its instruction sets."""
    libraries = [path for path in files("gantune") or () if path.name.startswith("libgantune_kernels.")]
    if len(libraries) != 1:
        print(f"the wheel holds {len(libraries)} kernel libraries; it should hold one")
        return 1
    library = ctypes.CDLL(str(libraries[0].locate()))
    library.gantune_instruction_set_name.restype = ctypes.c_char_p
    names = [
        library.gantune_instruction_set_name(index).decode()
        for index in range(library.gantune_num_instruction_sets())
        if library.gantune_instruction_set_runs(index)
    ]
    print(f"{libraries[0]} runs with {', '.join(names)}")
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main())
