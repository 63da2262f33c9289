"""The page shows what report.json holds, whole and escaped, and asks nobody for anything."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gantune.errors import StorageError
from gantune.records.report import Report
from gantune.reporting import Sample, render_page, write_page
from gantune.reporting.page import flatten_facts, number_candidates

HEADLINE_SOURCES = {
    "best.speedup_as_is.median",
    "best.speedup_as_is.low",
    "best.speedup_as_is.high",
    "best.speedup_tuned.median",
    "best.latency_ms.p50",
    "best.quality.psnr_db",
    "best.quality.ssim",
    "best.quality.max_abs",
    "best.peak_bytes",
    "best.size_bytes",
    "baselines.as_is.measured.latency_ms.p50",
    "baselines.tuned.measured.latency_ms.p50",
}


class FigureReader(HTMLParser):
    """Collect (source, scale, shown text) of every `<data data-source>`."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: list[tuple[str, float, str]] = []
        self._open: tuple[str, float] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "data":
            self._open = (given["data-source"] or "", float(given["data-scale"] or ""))

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.figures.append((*self._open, data))
            self._open = None


def read_figures(page: str) -> list[tuple[str, float, str]]:
    reader = FigureReader()
    reader.feed(page)
    return reader.figures


def follow(document: object, source: str) -> float:
    for key in source.split("."):
        document = document[int(key)] if isinstance(document, list) else document[key]  # type: ignore[index]
    assert isinstance(document, int | float)
    return float(document)


def half_a_last_digit(shown: str) -> float:
    mantissa, _, exponent = shown.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5000001 * 10.0 ** (int(exponent or 0) - decimals)


def mismatches(page: str, report: Report) -> Iterator[str]:
    document = json.loads(report.model_dump_json())
    for source, scale, shown in read_figures(page):
        stored = follow(document, source) / scale
        if abs(float(shown.replace(",", "")) - stored) > half_a_last_digit(shown.replace(",", "")):
            yield f"{source}: shows {shown}, holds {stored}"


def test_every_figure_on_the_page_is_the_one_in_the_json(report: Report, samples: list[Sample]) -> None:
    page = render_page(report, samples)
    assert len(read_figures(page)) > 60
    assert not list(mismatches(page, report))


def test_the_headline_traces_each_of_its_figures(report: Report) -> None:
    headline = render_page(report, []).split('<section class="headline"')[1].split("</section>")[0]
    assert {source for source, _, _ in read_figures(headline)} >= HEADLINE_SOURCES
    plain = headline.replace(report.verdict, "")
    untraced = re.sub(r"<data .*?</data>|<[^>]+>|stylegan2\S*|float32", "", plain)
    assert not re.findall(r"\d+", untraced)


def test_a_wrong_figure_would_be_noticed(report: Report) -> None:
    page = render_page(report, []).replace(">9.34<", ">9.35<")
    assert list(mismatches(page, report))


def test_the_page_names_no_address(report: Report, samples: list[Sample]) -> None:
    page = render_page(report, samples)
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", page)


def test_identical_pictures_are_called_identical(report: Report) -> None:
    assert report.best is not None
    assert report.best.quality is not None
    quality = report.best.quality.model_copy(update={"psnr_db": None, "identical": True})
    best = report.best.model_copy(update={"quality": quality})
    page = render_page(report.model_copy(update={"best": best}), [])
    assert "identical pictures" in page.split("</h1>")[0]


def test_a_run_that_keeps_nothing_says_so(unfinished_report: Report) -> None:
    page = render_page(unfinished_report, [])
    assert "Keep the original" in page.split("</h1>")[0]
    assert not list(mismatches(page, unfinished_report))


def test_a_signal_to_noise_run_shows_that_figure(report: Report) -> None:
    page = render_page(report.model_copy(update={"image_error": "snr"}), [])
    assert "best.quality.snr_db" in page
    assert "best.quality.psnr_db" not in page


def test_text_from_a_checkpoint_cannot_become_markup(report: Report) -> None:
    hostile = '"><script>alert(1)</script>'
    best = report.candidates[0].model_copy(update={"name": hostile, "reason": hostile})
    network = report.network.model_copy(update={"source": hostile, "facts": {hostile: hostile}})
    machine = report.machine.model_copy(update={"libraries": {hostile: hostile}})
    changed = report.model_copy(
        update={"network": network, "candidates": (best,), "best": best, "machine": machine}
    )
    assert "<script>alert" not in render_page(changed, [])


def test_candidates_are_numbered_kept_first_and_fast_first(report: Report) -> None:
    ordered = sorted(number_candidates(report).items(), key=lambda item: item[1])
    names = [name for name, _ in ordered]
    assert names[0] == "openvino bf16 convolutions, float32 filters"
    assert names[3:] == [
        "torch fp32 channels-last",
        "openvino bf16",
        "onnxruntime fp32",
        "torch_compile fp32",
    ]
    assert [number for _, number in ordered] == [1, 2, 3, 4, 5, 6, 7]


def test_nested_facts_are_flattened_in_order() -> None:
    facts = {"memory_bytes": 2**31, "libraries": {"torch": "2.13.0"}, "sets": ["a", "b"], "is_virtual": False}
    assert flatten_facts(facts) == [
        ("memory", "2.0 GiB"),
        ("libraries · torch", "2.13.0"),
        ("sets", "a, b"),
        ("is virtual", "no"),
    ]


def test_a_folder_that_is_not_there_is_a_storage_error(report: Report, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not be written"):
        write_page(report, [], tmp_path / "absent" / "report.html")


def test_an_exact_result_is_called_exact(report: Report) -> None:
    exact = report.candidates[0]
    assert "and exact" in render_page(report.model_copy(update={"best": exact}), []).split("</h1>")[0]


def test_the_time_is_told_in_utc_and_steps_in_words(report: Report) -> None:
    page = render_page(report, [])
    assert "2026-11-30 11:20 UTC" in page
    assert "resampling (form transposed), allocator (tuned), onnx (opset 20)" in page


def test_layers_that_are_not_drawn_are_counted(report: Report) -> None:
    assert "and 6 smaller layers" in render_page(report, [])
