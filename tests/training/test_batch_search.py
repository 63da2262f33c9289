from gantune.training import SpeedOptions
from gantune.training.batch_search import find_batch
from gantune.training.memory_probe import PhaseCost, Probe
from gantune.training.shapes import ImageShape
from training_samples import small_recipe

IMAGES = ImageShape(8, 1, 3)


def search(ms_of, *, free_bytes=2**40, cap=256):
    def probe(recipe, speed, images):
        ms = ms_of(recipe.batch)
        phases = (
            PhaseCost("g_main", 100 * recipe.batch, ms / 2, 1),
            PhaseCost("g_path_length", 1000 * recipe.batch, ms, 2),
        )
        return Probe(recipe.batch, 5000, phases)

    return find_batch(small_recipe(), SpeedOptions(), IMAGES, cap=cap, free_bytes=free_bytes, probe=probe)


def test_it_stops_where_the_throughput_is_flat():
    # A step costs 10 ms, and 1 ms more for each image beyond 16.
    advice = search(lambda batch: max(10, batch - 16 + 10))
    assert advice.batch == 16
    assert "no more images a second" in advice.reason
    assert [probe.batch for probe in advice.probes] == [4, 8, 16, 32]


def test_it_stops_at_the_cap():
    advice = search(lambda batch: 10, cap=40)
    assert (advice.batch, advice.reason) == (32, "the cap of 40 is reached")


def test_the_phase_that_needs_most_memory_decides():
    # 0.8 · 50,000 bytes are allowed: at 32, path lengths take 5,000 + 32,000; at 64 they would take 69,000.
    advice = search(lambda batch: 10, free_bytes=50_000)
    assert advice.batch == 32
    assert "g_path_length" in advice.reason


def test_a_real_search_ends():
    advice = find_batch(small_recipe(), SpeedOptions(workers=0), IMAGES, cap=8)
    assert advice.batch in (4, 8)
