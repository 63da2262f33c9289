import numpy as np
import pytest
from torch import nn

from gantune.errors import UsageError
from gantune.quality.features import module_features
from gantune.quality.pixels import pixels_from_bytes

IMAGES = pixels_from_bytes(np.arange(48, dtype=np.uint8).reshape(1, 3, 4, 4))


def test_any_module_is_a_feature_network_identified_by_its_state() -> None:
    a, b = nn.Sequential(nn.Flatten(), nn.Linear(48, 5)), nn.Sequential(nn.Flatten(), nn.Linear(48, 5))
    first, second = module_features("mine", a), module_features("mine", b)
    assert first.weights_sha256 != second.weights_sha256
    b.load_state_dict(a.state_dict())
    assert module_features("mine", b).weights_sha256 == first.weights_sha256
    assert first.extract(IMAGES).features.shape == (1, 5)
    assert first.resize_identity == "none"


def test_images_are_resized_to_the_networks_size() -> None:
    network = module_features("flat", nn.Flatten(), side=2)
    assert network.extract(IMAGES).features.shape == (1, 12)


def test_unnamed_networks_and_maps_are_refused() -> None:
    with pytest.raises(UsageError, match="no name"):
        module_features("", nn.Flatten())
    with pytest.raises(UsageError, match=r"must give \[N, K\]"):
        module_features("map", nn.Identity()).extract(IMAGES)
