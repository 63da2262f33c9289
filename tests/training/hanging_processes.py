"""Run by torchrun in `test_watchdog.py`: rank 1 hangs in a phase, rank 0 waits for it."""

import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from gantune.training.peers import join_peers
from gantune.training.watchdog import watch
from training_samples import small_recipe, steps_on_random_images


def main(hung_phase: str) -> None:
    logging.basicConfig(level=logging.ERROR)
    with join_peers(patience_s=60) as peers, watch(rank=peers.rank, patience_s=5) as dog:

        def beat(phase: str) -> None:
            dog.beat(phase)
            if peers.rank == 1 and phase == hung_phase:
                time.sleep(3600)

        steps_on_random_images(small_recipe(batch=16), 1, peers=peers, on_phase=beat)


if __name__ == "__main__":
    main(sys.argv[1])
