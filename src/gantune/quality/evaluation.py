"""`evaluate`: all scores of a checkpoint, an artifact or a folder of pictures, each with its identity."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gantune import runtime
from gantune.checkpoints import load
from gantune.errors import CheckpointError, UnavailableError, UnsupportedError, UsageError
from gantune.measuring.original import RunnableOriginal
from gantune.quality.distribution_metrics import DISTRIBUTION_METRICS, name_frechet
from gantune.quality.feature_catalogue import FeatureOptions, cache_folder, open_features
from gantune.quality.feature_sets import FeatureSet, gather_features
from gantune.quality.features import FeatureNetwork
from gantune.quality.frechet_loss import FrechetLoss, frechet_loss, frechet_loss_without_reference
from gantune.quality.generator_metrics import GENERATOR_METRICS
from gantune.quality.image_sources import GeneratedImages, ImageSource, PictureFiles
from gantune.quality.kernel import kernel_difference
from gantune.quality.lpips import LPIPS, open_lpips
from gantune.quality.paired_scores import score_pairs
from gantune.quality.reference_cache import NUM_KEPT, ReferenceStatistics, reference_statistics
from gantune.records.score import Difference, Evaluation, Score, ScoreIdentity

METRIC_NAMES: tuple[str, ...] = (
    "paired",
    "frechet_loss",
    *(metric.name for metric in DISTRIBUTION_METRICS),
    *(metric.name for metric in GENERATOR_METRICS),
)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Choose metrics (empty: those that the given files allow), the number of images, and the features."""

    metrics: tuple[str, ...] = ()
    num_images: int = 1000
    batch: int = 16
    seed: int = 0
    image_size: int = 64
    truncation_psi: float | None = None
    features: FeatureOptions = field(default_factory=FeatureOptions)
    lpips_vgg: Path | None = None
    lpips_linear: Path | None = None

    def __post_init__(self) -> None:
        unknown = [name for name in self.metrics if name not in METRIC_NAMES]
        if unknown:
            raise UsageError(
                f"There is no metric {unknown[0]!r}; the metrics are: {', '.join(METRIC_NAMES)}."
            )
        if self.num_images < 2 or self.batch < 1:
            raise UsageError(
                f"num_images is {self.num_images} and batch {self.batch}; at least 2 images and a batch of 1"
            )
        if (self.lpips_vgg is None) != (self.lpips_linear is None):
            raise UsageError("LPIPS needs both files: --lpips-vgg and --lpips-linear.")


def evaluate(
    subject: Path,
    *,
    against: Path | None = None,
    reference: Path | None = None,
    options: EvaluateOptions | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Score `subject`, held `against` the original on the same samples, and against `reference` pictures.

    Each is a checkpoint, an artifact folder, or a folder or ZIP of pictures; `reference` is pictures. A
    metric that was not asked for by name and cannot be computed here stands in `left_out` with its reason.
    """
    return _Run(subject, against, reference, options or EvaluateOptions(), on_progress).evaluate()


def open_source(path: Path, options: EvaluateOptions) -> ImageSource:
    """Open what is at `path` as a source of images; raise `CheckpointError` where there is nothing."""
    if not path.exists():
        raise CheckpointError(f"There is nothing at {path}. Name a checkpoint, an artifact or pictures.")
    is_artifact = (path / "artifact.json").is_file()
    if path.suffix.lower() == ".zip" or (path.is_dir() and not is_artifact):
        return PictureFiles(path)
    return GeneratedImages(
        runtime.load(path) if is_artifact else RunnableOriginal(path),
        seed=options.seed,
        image_size=options.image_size,
        truncation_psi=options.truncation_psi,
    )


class _Run:
    """The state of one evaluation: what is open already, and what was found."""

    def __init__(
        self,
        subject: Path,
        against: Path | None,
        reference: Path | None,
        options: EvaluateOptions,
        on_progress: Callable[[str], None],
    ) -> None:
        self.paths = (subject, against, reference)
        self.options = options
        self.say = on_progress
        self.new = open_source(subject, options)
        self.old = None if against is None else open_source(against, options)
        self.scores: dict[str, Score] = {}
        self.differences: dict[str, Difference] = {}
        self.left_out: dict[str, str] = {}
        self.lpips: LPIPS | None = None
        if options.lpips_vgg is not None and options.lpips_linear is not None:
            self.lpips = open_lpips(options.lpips_vgg, options.lpips_linear)

    def evaluate(self) -> Evaluation:
        subject, against, reference = self.paths
        pairs = None
        if self.old is not None and self._is_wanted("paired"):
            self.say("comparing pairs")
            pairs = score_pairs(
                self.new, self.old, n=self._count(), batch=self.options.batch, lpips=self.lpips
            )
            self.scores |= pairs.scores
        self._score_distributions()
        self._score_generator()
        return Evaluation(
            subject=str(subject),
            against=None if against is None else str(against),
            reference=None if reference is None else str(reference),
            scores=self.scores,
            differences=self.differences,
            bands=() if pairs is None else pairs.bands,
            is_identical=None if pairs is None else pairs.is_identical,
            left_out=self.left_out,
        )

    def _is_wanted(self, name: str) -> bool:
        return not self.options.metrics or name in self.options.metrics

    def _count(self) -> int:
        sizes = [source.num_images for source in (self.new, self.old) if source is not None]
        return min([self.options.num_images, *(size for size in sizes if size is not None)])

    def _score_distributions(self) -> None:
        has_reference = self.paths[2] is not None
        asked = self.options.metrics
        metrics = [
            metric
            for metric in DISTRIBUTION_METRICS
            if (metric.name in asked) or (not asked and metric.needs_reference and has_reference)
        ]
        wants_loss = self.old is not None and self._is_wanted("frechet_loss")
        for metric in metrics:
            if metric.needs_reference and not has_reference:
                raise UsageError(f"The metric {metric.name} needs real pictures: name them with --reference.")
        if not metrics and not wants_loss:
            return
        try:
            network = open_features(self.options.features)
        except UnavailableError as error:
            if asked:
                raise
            self.left_out |= {name: str(error) for name in ("frechet", "frechet_loss")}
            return
        reference = self._read_reference(network)
        self.say("running the subject's images through the features")
        fake = self._gather(self.new, network, 0)
        for metric in metrics:
            self.scores |= metric.compute(fake, reference, network)
        if wants_loss:
            self._compare_distributions(fake, reference, network)

    def _read_reference(self, network: FeatureNetwork) -> ReferenceStatistics | None:
        path = self.paths[2]
        if path is None:
            return None
        self.say("reading the reference data")
        return reference_statistics(
            PictureFiles(path), network, folder=cache_folder() / "statistics", batch=self.options.batch
        )

    def _gather(self, source: ImageSource, network: FeatureNetwork, block: int) -> FeatureSet:
        n = self._count()
        # Pairs are compared image by image, and so all are kept; a distance alone needs only moments.
        num_kept = n if self.old is not None else NUM_KEPT
        return gather_features(
            source,
            network,
            start=block * n,
            stop=(block + 1) * n,
            batch=self.options.batch,
            num_kept=num_kept,
        )

    def _compare_distributions(
        self, fake: FeatureSet, reference: ReferenceStatistics | None, network: FeatureNetwork
    ) -> None:
        assert self.old is not None
        self.say("running the original's images through the features")
        old = self._gather(self.old, network, 0)
        name = name_frechet(network)
        if reference is not None:
            loss = frechet_loss(fake.features, old.features, reference.features.moments)
            self.differences["kid"] = kernel_difference(
                fake.features, old.features, reference.features.features
            )
        elif self.old.num_images is None:
            self.say("running the original's second half")
            second = self._gather(self.old, network, 1)
            loss = frechet_loss_without_reference(fake.features, old.features, second.features)
        else:
            self.left_out["frechet_loss"] = (
                "pictures alone have no second set; name real ones with --reference"
            )
            return
        self.differences[name] = loss.difference
        self.scores["frechet_loss"] = self._score_loss(loss, reference, network)

    def _score_loss(
        self, loss: FrechetLoss, reference: ReferenceStatistics | None, network: FeatureNetwork
    ) -> Score:
        identity = ScoreIdentity(
            metric="frechet_loss",
            features=network.name,
            weights_sha256=network.weights_sha256,
            resize=network.resize_identity,
            num_images=self._count(),
            reference_sha256=None if reference is None else reference.data_sha256,
        )
        return Score(
            value=loss.value,
            low=loss.low,
            high=loss.high,
            identity=identity,
            details={"old": loss.old, "new": loss.new},
            warnings=loss.warnings,
        )

    def _score_generator(self) -> None:
        asked: Sequence[str] = self.options.metrics
        metrics = [metric for metric in GENERATOR_METRICS if metric.name in asked]
        if not metrics:
            return
        subject = self.paths[0]
        if not subject.is_file() or isinstance(self.new, PictureFiles):
            raise UnsupportedError(
                f"{metrics[0].name} needs the network itself, not an artifact or pictures: name a checkpoint."
            )
        network = load(subject)
        for metric in metrics:
            self.say(f"computing {metric.name}")
            self.scores[metric.name] = metric.compute(
                network, self.options.num_images, self.options.seed, self.lpips
            )
