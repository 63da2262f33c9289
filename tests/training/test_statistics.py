import json

import torch

from gantune.training.statistics import STATISTICS_FILE, append_line, cut_after, summarize


def test_records_become_number_mean_and_spread():
    found = summarize({"loss": [torch.tensor(1.0), torch.tensor(3.0)]})
    assert found == {"loss": {"num": 2, "mean": 2.0, "std": 1.0}}


def test_what_json_cannot_hold_is_null(tmp_path):
    append_line(tmp_path, {"loss": {"mean": float("nan"), "std": float("inf")}, "num_images": 1})
    assert json.loads((tmp_path / STATISTICS_FILE).read_text()) == {
        "loss": {"mean": None, "std": None},
        "num_images": 1,
    }


def test_lines_behind_the_state_are_dropped_and_so_is_half_a_line(tmp_path):
    for count in (10, 20, 30):
        append_line(tmp_path, {"num_images": count})
    with (tmp_path / STATISTICS_FILE).open("a") as stream:
        stream.write('{"num_ima')
    cut_after(tmp_path / STATISTICS_FILE, 20)
    lines = (tmp_path / STATISTICS_FILE).read_text().splitlines()
    assert [json.loads(line)["num_images"] for line in lines] == [10, 20]


def test_there_may_be_no_lines_yet(tmp_path):
    cut_after(tmp_path / STATISTICS_FILE, 20)
    assert not (tmp_path / STATISTICS_FILE).exists()
