"""StyleGAN2's discriminator: minibatch statistics and architectures, checked by hand."""

import pytest
import torch

from gantune.errors import UsageError
from gantune.networks.catalogue import build_network
from gantune.networks.stylegan2_discriminator import MinibatchStddev
from network_samples import SMALL_DISCRIMINATORS


def build(**changes):
    torch.manual_seed(3)
    config = {**SMALL_DISCRIMINATORS["stylegan2"], **changes}
    return build_network("stylegan2", config, role="discriminator")


def test_the_deviation_of_each_group_is_appended():
    # Four samples in two groups of two: 0 and 2, 1 and 3.
    x = torch.tensor([1.0, 5.0, 3.0, 5.0]).reshape(4, 1, 1, 1).expand(4, 2, 3, 3)
    result = MinibatchStddev(group_size=2, num_channels=1)(x)
    assert torch.equal(result[:, :2], x)
    expected = torch.tensor([1.0, 1e-4, 1.0, 1e-4]).reshape(4, 1, 1, 1).expand(4, 1, 3, 3)
    torch.testing.assert_close(result[:, 2:], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("group_size", [None, 4, 8])
def test_a_group_is_never_larger_than_the_batch(group_size):
    result = MinibatchStddev(group_size, num_channels=1)(torch.tensor([0.0, 0, 3, 3]).reshape(4, 1, 1, 1))
    torch.testing.assert_close(result[:, 1].flatten(), torch.full((4,), 1.5))


def test_a_batch_that_does_not_split_is_refused():
    with pytest.raises(UsageError, match="batch of 6 does not split into groups of 4"):
        MinibatchStddev(4, num_channels=1)(torch.zeros(6, 1, 1, 1))


@pytest.mark.parametrize(
    ("architecture", "with_fromrgb", "with_skip"),
    [
        ("orig", {"b16"}, set()),
        ("skip", {"b16", "b8", "b4"}, set()),
        ("resnet", {"b16"}, {"b16", "b8"}),
    ],
)
def test_the_layers_of_each_architecture(architecture, with_fromrgb, with_skip):
    parts = [name.split(".") for name in build(architecture=architecture).state_dict()]
    assert {block for block, layer, *_ in parts if layer == "fromrgb"} == with_fromrgb
    assert {block for block, layer, *_ in parts if layer == "skip"} == with_skip


def test_the_label_matters_and_samples_alone_do_not_couple():
    network = build(epilogue_kwargs={"mbstd_num_channels": 0})
    images = network.sample_inputs(3, seed=1)["img"]
    labels = torch.eye(3)
    logits = network(images, labels)
    assert not torch.allclose(logits, network(images, labels.flip(0)))
    alone = torch.cat([network(images[i : i + 1], labels[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(alone, logits, rtol=1e-4, atol=1e-4)


def test_an_image_of_another_size_is_refused():
    with pytest.raises(UsageError, match=r"\[1, 3, 8, 8\].*3, 16, 16"):
        build()(torch.zeros(1, 3, 8, 8), torch.eye(3)[:1])
