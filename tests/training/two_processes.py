"""Run by torchrun in `test_peers.py`: some steps on one share of the batch, the state and bytes to a file."""

import json
import sys
from pathlib import Path

from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parents[1]))
from gantune.training.peers import join_peers
from gantune.training.saving import _state_tensors
from training_samples import steps_on_random_images, two_process_recipe


def main(out: Path, num_steps: int, compression: str, cfg: str) -> None:
    with join_peers(compression=compression) as peers:
        game = steps_on_random_images(two_process_recipe(cfg), num_steps, peers=peers)
        peers.check_equal(list(game.players.generator.parameters()))
        exchanged = {"sent": peers.exchanged.sent, "uncompressed": peers.exchanged.uncompressed}
        tensors = {name: item.contiguous() for name, item in _state_tensors(game).items()}
        described = json.dumps(exchanged | {"p": game.augment.p})
        save_file(tensors, out / f"rank{peers.rank}.safetensors", metadata={"exchanged": described})


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
