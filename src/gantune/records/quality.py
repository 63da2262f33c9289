"""How much the images of a candidate differ from those of the original network."""

from pydantic import BaseModel, ConfigDict


class PairedQuality(BaseModel):
    """Hold the figures of DESIGN "Numbers, defined once"; None means not measured or not defined.

    `psnr_db` and `snr_db` are None where the images are `identical`. `ssim` lies in [−1, 1]; `max_abs` is the
    largest absolute difference; `finite` says whether every candidate value is finite. `frechet` is a distance
    and `frechet_loss` its relative growth; `spectrum_db` compares averaged power spectra.
    """

    model_config = ConfigDict(frozen=True)

    psnr_db: float | None
    snr_db: float | None
    identical: bool
    ssim: float | None
    max_abs: float | None
    finite: bool = True
    frechet: float | None = None
    frechet_loss: float | None = None
    spectrum_db: float | None = None
