"""Build the C++ kernels where a compiler is found; without one gantune installs, and portable forms run."""

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

NATIVE = Path("src/gantune/ops/native")
SUFFIXES = {"Darwin": "dylib", "Windows": "dll"}
FLAGS = [
    "-std=c++17",
    "-O3",
    "-g0",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-psabi",
    "-pthread",
]
X86 = {
    "kernels_avx512.cpp": [
        "-mavx512f",
        "-mavx512bw",
        "-mavx512dq",
        "-mavx512vl",
        "-mfma",
        "-mprefer-vector-width=512",
    ],
    "kernels_avx512_bf16.cpp": [
        "-mavx512f",
        "-mavx512bw",
        "-mavx512dq",
        "-mavx512vl",
        "-mavx512bf16",
        "-mfma",
        "-mprefer-vector-width=512",
    ],
    "kernels_avx2.cpp": ["-mavx2", "-mfma"],
}
ARM = {"kernels_neon.cpp": []}
SOURCES = {"kernels_generic.cpp": [], "interface.cpp": [], "filter_plan.cpp": [], "thread_pool.cpp": []}


def sources() -> dict[str, list[str]]:
    """Return the files to compile for this processor, each with its own flags."""
    machine = platform.machine().lower()
    own = X86 if machine in {"x86_64", "amd64"} else ARM if machine in {"aarch64", "arm64"} else {}
    return own | SOURCES


class BuildKernels(build_ext):
    """Compile each source with its flags and link a plain shared library, which is no Python module."""

    def get_ext_filename(self, fullname: str) -> str:
        """Name the library without a Python's tag."""
        suffix = SUFFIXES.get(platform.system(), "so")
        return os.path.join(*fullname.split(".")[:-1], f"libgantune_kernels.{suffix}")

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """Export no module initializer: the sources mark what they export."""
        return []

    def build_extension(self, ext: Extension) -> None:
        """Compile the sources side by side, and link them."""

        def compile_one(source: tuple[str, list[str]]) -> list[str]:
            name, flags = source
            path = str(NATIVE / name)
            return self.compiler.compile([path], output_dir=self.build_temp, extra_postargs=FLAGS + flags)

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            objects = [path for paths in pool.map(compile_one, sources().items()) for path in paths]
        libraries = ["dl"] if platform.system() == "Linux" else []
        self.compiler.link_shared_object(
            objects,
            self.get_ext_fullpath(ext.name),
            libraries=libraries,
            extra_postargs=[] if platform.system() == "Windows" else ["-pthread"],
            build_temp=self.build_temp,
            target_lang="c++",
        )


class AnyPythonWheel(bdist_wheel):
    """Tag the wheel for its platform and for every Python: the library is loaded by ctypes."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag of Python, ABI and platform."""
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[
        Extension(
            "gantune.ops.native.kernels",
            sources=[str(NATIVE / name) for name in sources()],
            depends=[str(path) for path in sorted(NATIVE.glob("*.h"))],
            language="c++",
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": AnyPythonWheel},
)
