"""What a quantization run found: bits and kernel of each layer, quality, size, speed, verdict."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gantune.records.candidate import ImageQuality, Interval, Latency
from gantune.records.machine import Machine


class LayerSensitivity(BaseModel):
    """The image error when one part of one layer alone has these bits; None where nothing changed.

    `mean_square` is the squared difference of the output's values, averaged over the batch.
    """

    model_config = ConfigDict(frozen=True)

    layer: str
    part: Literal["weights", "activations"]
    bits: int
    mean_square: float
    psnr_db: float | None
    snr_db: float | None
    ssim: float
    spectrum_db: float


class SensitivityTable(BaseModel):
    """All sensitivities of a network, in the order of its layers."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    family: str
    num_samples: int
    rows: tuple[LayerSensitivity, ...]


class QuantizedLayerFact(BaseModel):
    """One dense layer: its MACs for one sample, its bits (None: float) and the precision it really ran in."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: str
    macs: int
    weight_bits: int | None
    activation_bits: int | None
    executed: str


class QuantizedCandidate(BaseModel):
    """One artifact of the run, integer or float, as it was measured beside the others."""

    model_config = ConfigDict(frozen=True)

    name: str
    engine: str
    precision: str
    size_bytes: int
    latency_ms: Latency | None
    quality: ImageQuality
    speedup_tuned: Interval | None
    speedup_best_float: Interval | None
    integer_macs_share: float | None
    reason: str = ""


class FinetunePoint(BaseModel):
    """Where fine-tuning stood: the averaged network's image error, and the losses since the last point."""

    model_config = ConfigDict(frozen=True)

    step: int
    num_images: int
    seconds: float
    error_db: float | None
    distillation: float | None = None
    generator_loss: float | None = None
    discriminator_loss: float | None = None


class FinetuneRecord(BaseModel):
    """A fine-tuning: what it cost and what it gave, or why it was `stopped`; then it gave nothing.

    The image errors are those of held-out latents against the float network's images.
    """

    model_config = ConfigDict(frozen=True)

    data: str
    discriminator: str
    steps: str
    distillation: float
    rate: float
    num_steps: int
    num_images: int
    seconds: float
    before_db: float | None
    after_db: float | None
    stopped: str | None = None
    points: tuple[FinetunePoint, ...]


class QuantizationReport(BaseModel):
    """The whole run; `kept` names the candidate in `artifact/`."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    gantune_version: str
    created: str
    machine: Machine
    source: str
    family: str
    num_calibration_samples: int
    image_error: Literal["range", "snr"]
    min_db: float
    float32_bytes: int
    layers: tuple[QuantizedLayerFact, ...]
    candidates: tuple[QuantizedCandidate, ...]
    best_float: str
    kept: str
    is_int8_kept: bool
    verdict: str
    finetuning: FinetuneRecord | None = None
