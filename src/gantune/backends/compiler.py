"""The C++ compiler that torch's own compiler needs on a CPU."""

import shutil

COMPILERS = ("g++", "clang++", "c++")


def missing_compiler(need: str) -> str | None:
    """Return None where a C++ compiler is found, else the reason: `need`, such as "X needs", and what."""
    if any(shutil.which(compiler) for compiler in COMPILERS):
        return None
    return f"{need} (g++ or clang++), and none was found"
