import signal
import threading
from itertools import islice

import psutil
import pytest
import torch

from gantune.errors import CheckpointError, ScriptError
from gantune.training.batches import (
    BatchSchedule,
    BatchStream,
    Share,
    explain_lost_workers,
    seed_generator,
)
from gantune.training.dataset import ImageDataset
from training_samples import write_dataset


def take(count, **options):
    arguments = {"batch": 4, "seed": 7, "share": Share()} | options
    return list(islice(BatchSchedule(10, **arguments), count))


def test_every_epoch_shows_every_image_once():
    indices = [index for batch in take(5) for index in batch]
    assert sorted(indices[:10]) == sorted(indices[10:]) == list(range(10))
    assert indices[:10] != indices[10:]


def test_a_later_first_step_continues_the_same_order():
    assert take(3, first_step=2) == take(5)[2:]


def test_the_seed_changes_the_order():
    assert take(2) != take(2, seed=8)


def test_processes_share_the_batch_of_one():
    parts = [take(3, share=Share(rank=rank, world_size=2, group_size=2)) for rank in range(2)]
    for first, second, whole in zip(*parts, take(3), strict=True):
        # Four samples in groups of 2: sample n is in group n mod 2, and each process has one group.
        assert first == [whole[0], whole[2]]
        assert second == [whole[1], whole[3]]


def test_numbers_seed_a_generator_by_all_of_them():
    drawn = [
        torch.rand(1, generator=seed_generator(*seed)).item() for seed in [(1, 2), (1, 3), (2, 2), (1, 2)]
    ]
    assert drawn[0] == drawn[3]
    assert len(set(drawn)) == 3


@pytest.mark.parametrize("workers", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_workers_give_what_the_loop_would_read_and_leave_nothing(tmp_path, workers):
    dataset = ImageDataset(write_dataset(tmp_path / "data.zip", count=10), use_labels=True)
    before, threads = len(psutil.Process().children()), threading.active_count()
    stream = BatchStream(dataset, BatchSchedule(10, batch=4, seed=7, share=Share()), workers=workers)
    for indices in take(4):
        images, labels = stream.next_batch()
        assert torch.equal(images, dataset[indices][0])
        assert torch.equal(labels, dataset[indices][1])
    stream.close()
    assert len(psutil.Process().children()) == before
    assert threading.active_count() == threads


def test_batches_are_taken_over_before_they_are_asked_for(tmp_path):
    dataset = ImageDataset(write_dataset(tmp_path / "data.zip", count=10))
    stream = BatchStream(dataset, BatchSchedule(10, batch=4, seed=7, share=Share()), workers=1)
    try:
        assert torch.equal(stream._ready[0].result(timeout=60)[0], dataset[take(1)[0]][0])
    finally:
        stream.close()


def test_a_damaged_picture_is_an_error_in_the_loop(tmp_path):
    dataset = ImageDataset(write_dataset(tmp_path / "data.zip", count=4))
    dataset.resolution = 16
    stream = BatchStream(dataset, BatchSchedule(4, batch=4, seed=7, share=Share()), workers=1)
    with pytest.raises(CheckpointError, match=r"^00000/img\d+\.png in .* Bring all to one size and color\.$"):
        stream.next_batch()
    stream.close()


def test_signals_of_the_terminal_leave_the_workers_to_the_loop(tmp_path):
    dataset = ImageDataset(write_dataset(tmp_path / "data.zip", count=10))
    stream = BatchStream(dataset, BatchSchedule(10, batch=4, seed=7, share=Share()), workers=1)
    try:
        stream.next_batch()
        for worker in psutil.Process().children():
            worker.send_signal(signal.SIGINT)
            worker.send_signal(signal.SIGTERM)
        for indices in take(12)[1:]:
            assert torch.equal(stream.next_batch()[0], dataset[indices][0])
    finally:
        stream.close()


def lose_the_workers(stream):
    stream.next_batch()
    for worker in psutil.Process().children():
        worker.kill()
    with explain_lost_workers():
        for _ in range(12):
            stream.next_batch()


def test_a_killed_worker_is_told_in_one_sentence(tmp_path):
    dataset = ImageDataset(write_dataset(tmp_path / "data.zip", count=10))
    stream = BatchStream(dataset, BatchSchedule(10, batch=4, seed=7, share=Share()), workers=1)
    try:
        with pytest.raises(ScriptError, match=r"A process that reads pictures was killed"):
            lose_the_workers(stream)
    finally:
        stream.close()


def test_other_errors_are_not_explained_away():
    with pytest.raises(RuntimeError, match="something else"), explain_lost_workers():
        raise RuntimeError("something else")
