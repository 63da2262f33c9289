"""The machine a figure was measured on."""

from pydantic import BaseModel, ConfigDict


class Machine(BaseModel):
    """Describe processor, memory, libraries, allocator and the environment variables that matter.

    `instruction_sets` holds those of avx2, avx512f, avx512_vnni, avx_vnni, avx512_bf16, avx512_fp16,
    amx_tile, amx_int8, amx_bf16, neon, bf16 and i8mm that the processor has. `libraries` maps a library to
    its version; those not installed are absent. `linkage` says how torch was built, and is None where it was
    not asked for. `environment` holds only variables that are set. `devices` names accelerators, found only
    with `linkage`.
    """

    model_config = ConfigDict(frozen=True)

    processor: str
    architecture: str
    num_cores: int
    instruction_sets: tuple[str, ...]
    memory_bytes: int
    operating_system: str
    c_library: str
    python: str
    allocator: str
    libraries: dict[str, str]
    environment: dict[str, str]
    linkage: dict[str, str] | None = None
    devices: tuple[str, ...] = ()
