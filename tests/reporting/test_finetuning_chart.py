import re

from gantune.records.quantization import FinetunePoint, FinetuneRecord
from gantune.reporting.finetuning_chart import draw_image_error, draw_losses


def record(**changes) -> FinetuneRecord:
    points = (
        FinetunePoint(step=0, num_images=0, seconds=0, error_db=20.0),
        FinetunePoint(
            step=5, num_images=160, seconds=1, error_db=24.0, generator_loss=1.0, discriminator_loss=0.5
        ),
        FinetunePoint(
            step=10, num_images=320, seconds=2, error_db=26.0, generator_loss=0.8, discriminator_loss=0.6
        ),
    )
    values = {
        "data": "data.zip", "discriminator": "float", "steps": "learned", "distillation": 10.0, "rate": 0.002,
        "num_steps": 10, "num_images": 320, "seconds": 2.0, "before_db": 20.0, "after_db": 26.0,
        "points": points,
    }  # fmt: skip
    return FinetuneRecord(**(values | changes))


def heights(svg: str) -> list[list[float]]:
    paths = re.findall(r'<path d="M([^"]+)"', svg)
    return [[float(point.split()[1]) for point in path.split("L")] for path in paths]


def test_a_smaller_error_stands_higher():
    for is_narrow in (False, True):
        (line,) = heights(draw_image_error(record(), is_narrow=is_narrow))
        assert line == sorted(line, reverse=True)
        assert len(line) == 3
    assert "from 20.0 dB to 26.0 dB" in draw_image_error(record(), is_narrow=False)


def test_both_losses_are_drawn_from_their_first_value():
    lines = heights(draw_losses(record(), is_narrow=False))
    assert [len(line) for line in lines] == [2, 2]
    assert lines[0][0] < lines[0][1]
    assert lines[1][0] > lines[1][1]


def test_without_a_discriminator_no_losses_are_drawn():
    points = tuple(
        point.model_copy(update={"generator_loss": None, "discriminator_loss": None})
        for point in record().points
    )
    assert draw_losses(record(points=points), is_narrow=False) == ""


def test_a_run_stopped_at_once_is_drawn():
    svg = draw_image_error(record(points=record().points[:1], num_images=0, after_db=None), is_narrow=False)
    assert "from 20.0 dB to nothing" in svg
