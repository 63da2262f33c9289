"""Step boundaries from the events of typical training loops."""

from gantune.profiling.launch.step_finder import Source, StepFinder


def count_boundaries(events: str, *, source: Source = "optimizer") -> list[int]:
    """Give the places in a string of one-letter optimizers after which a step ends, once that is settled."""
    finder = StepFinder()
    found = [place for place, letter in enumerate(events) if finder.see(source, ord(letter))]
    return [place for place in found if place >= len(events) // 2]


def test_two_optimizers_in_turn_end_the_step_with_the_second() -> None:
    assert count_boundaries("DGDGDGDG") == [5, 7]


def test_several_critic_steps_are_one() -> None:
    assert count_boundaries("DDDDDG" * 4) == [17, 23]


def test_lazy_regularization_with_steps_of_its_own_does_not_end_a_step_twice() -> None:
    # G, sometimes again for path length; D, sometimes again for R1: the first D of each round ends a step.
    assert count_boundaries("GD" + "GGD" + "GDD" + "GD" + "GGDD" * 4) == [16, 20, 24]


def test_a_single_optimizer_ends_every_step() -> None:
    assert count_boundaries("AAAAAA") == [3, 4, 5]


def test_an_optimizer_that_steps_every_other_round_makes_the_round() -> None:
    assert count_boundaries("ABACABACABAC") == [7, 11]


def test_optimizers_take_over_from_batches_and_count_anew() -> None:
    finder = StepFinder()
    for _ in range(3):
        finder.see("loader")
    assert (finder.source, finder.num_steps) == ("loader", 3)
    finder.see("backward")
    finder.see("optimizer", 1)
    assert (finder.source, finder.num_steps) == ("optimizer", 1)
    assert not finder.see("loader")


def test_a_trainer_s_own_range_comes_before_optimizers() -> None:
    finder = StepFinder()
    finder.see("optimizer", 1)
    assert finder.see("range")
    assert not finder.see("optimizer", 1)
