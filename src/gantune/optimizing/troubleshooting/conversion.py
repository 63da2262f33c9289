"""The leaves of "conversion failed"."""

from gantune.optimizing.troubleshooting.case import Case
from gantune.optimizing.troubleshooting.leaf import Leaf
from gantune.records.candidate import Candidate

_OPERATOR_WORDS = ("No ONNX function", "No decomposition", "custom operator", "not supported")
_SHAPE_WORDS = ("inferred ranges", "Constraints violated", "shape", "batch", "dimension")
_BROKEN_WORDS = ("NaN", "not finite", "infinite")
_INTEGER_WORDS = ("quantize", "rounding noise", "integers", "Integers")


def _failures(case: Case) -> list[Candidate]:
    report = case.report
    return [] if report is None else [one for one in report.candidates if one.status == "failed"]


def _texts(case: Case) -> list[tuple[str, str]]:
    """List what went wrong: the subject itself, and each candidate of a run that failed."""
    own = [(case.subject, case.export_error)] if case.export_error else []
    return own + [(one.name, one.reason) for one in _failures(case)]


def _first(case: Case, words: tuple[str, ...], *, without: tuple[str, ...] = ()) -> str:
    for name, text in _texts(case):
        if any(word in text for word in words) and not any(word in text for word in without):
            return f"{name}: {text}"
    return ""


def _read(case: Case) -> str:
    return "" if _is_version(case.load_error) or _is_broken(case.load_error) else case.load_error


def _weights(case: Case) -> str:
    return case.load_error if _is_broken(case.load_error) else ""


def _is_broken(text: str) -> bool:
    return any(word in text for word in _BROKEN_WORDS)


def _is_version(text: str) -> bool:
    return "not installed" in text or "pip install" in text


def _versions(case: Case) -> str:
    if _is_version(case.load_error):
        return case.load_error
    if case.report is None:
        return ""
    wanted = [line for line in case.report.plan.candidates if line.is_skipped and _is_version(line.why)]
    if wanted:
        return f"{wanted[0].name}: {wanted[0].why}"
    before, now = case.report.machine.libraries, case.machine.libraries
    changed = [
        f"{name} {number} → {now.get(name, 'absent')}"
        for name, number in before.items()
        if now.get(name) != number
    ]
    is_failed = bool(changed) and bool(_failures(case))
    return f"a candidate failed, and the libraries differ: {', '.join(changed)}" if is_failed else ""


def _operators(case: Case) -> str:
    return _first(case, _OPERATOR_WORDS, without=_INTEGER_WORDS)


def _shapes(case: Case) -> str:
    return _first(case, _SHAPE_WORDS, without=(*_OPERATOR_WORDS, *_INTEGER_WORDS, "died", "budget"))


def _integers(case: Case) -> str:
    return _first(case, _INTEGER_WORDS)


def _process(case: Case) -> str:
    return _first(case, ("died", "did not answer"))


LEAVES: tuple[Leaf, ...] = (
    Leaf(
        "conversion failed",
        "refused file",
        "Can the file be read at all?",
        _read,
        "Get the file again and compare its size and hash with the source's; gantune inspect says "
        "more. A file that carries code is refused on purpose: convert it where it was made, to "
        "safetensors.",
    ),
    Leaf(
        "conversion failed",
        "broken weights",
        "Are all weights finite?",
        _weights,
        "The training had diverged when this was saved: take an earlier snapshot, or the averaged generator.",
    ),
    Leaf(
        "conversion failed",
        "versions",
        "Are the engines there, in the versions that worked before?",
        _versions,
        "Install what is named (pip install 'gantune[openvino]'), or the tested versions: pip "
        "install -c constraints.txt.",
    ),
    Leaf(
        "conversion failed",
        "custom operators",
        "Does every operation have a form that the engine knows?",
        _operators,
        "Freeze the network first, so that no custom operation is left (gantune optimize does), or "
        "run it with the torch engine, which takes gantune's own operations.",
    ),
    Leaf(
        "conversion failed",
        "shapes",
        "Does the exported graph take other shapes than the traced one?",
        _shapes,
        "Keep Python numbers out of the forward pass: read sizes from tensors, never with int(); "
        "fix the input size with --image-size where the network needs one.",
    ),
    Leaf(
        "conversion failed",
        "integers",
        "Do the rounded layers survive the export?",
        _integers,
        "Take the floating point candidate, or leave the layer that is named in float: gantune "
        "quantize --help.",
    ),
    Leaf(
        "conversion failed",
        "process died",
        "Did the candidate's process die?",
        _process,
        "Look at memory first (the report's peak, and what the machine has), then run the artifact "
        "alone with gantune bench to see the engine's own message.",
    ),
)
