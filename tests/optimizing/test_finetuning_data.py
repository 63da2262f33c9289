import pytest

from finetuning_samples import small_players, write_data, write_snapshot
from gantune.errors import UnsupportedError, UsageError
from gantune.optimizing.finetuning_data import count_labels, open_lessons
from gantune.optimizing.finetuning_options import FinetuneOptions
from transform_samples import build_small


def lessons(folder, data, **options):
    path = write_snapshot(folder, has_discriminator=False)
    return open_lessons(path, small_players("stylegan2").average, FinetuneOptions(data=data, **options))


def test_a_file_without_a_discriminator_is_refused_unless_none_is_asked_for(tmp_path):
    data = write_data(tmp_path)
    with pytest.raises(UnsupportedError, match=r"holds no discriminator.*--finetune-discriminator none"):
        lessons(tmp_path, data)
    assert lessons(tmp_path, data, discriminator="none").discriminator is None


def test_pictures_of_another_size_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"\[1, 8, 8\] and the generator makes \[1, 16, 16\]"):
        lessons(tmp_path, write_data(tmp_path, size=8))


def test_labels_of_another_number_are_refused(tmp_path):
    with pytest.raises(UsageError, match="have 2 classes and the generator takes 3"):
        lessons(tmp_path, write_data(tmp_path, classes=2))


def test_a_network_without_latents_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="a srvgg network takes none"):
        open_lessons(tmp_path, build_small("srvgg"), FinetuneOptions(data=tmp_path))


@pytest.mark.parametrize(("family", "num_labels"), [("stylegan2", 3), ("dcgan", 0), ("biggan", 3)])
def test_labels_are_counted(family, num_labels):
    assert count_labels(build_small(family)) == num_labels
