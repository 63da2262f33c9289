"""Every golden StyleGAN network gives the authors' numbers, whichever form the operations take."""

import copy
from functools import cache

import pytest
import torch

from gantune.ops import use_implementation
from stylegan_golden import (
    FORM_NAMES,
    NAMES,
    assert_exact,
    assert_relative,
    assert_relative_or_nearer,
    load_golden,
)

every_network = pytest.mark.parametrize("name", NAMES)
every_form = pytest.mark.parametrize("form", FORM_NAMES)


@every_network
@every_form
def test_mapping_gives_the_authors_ws(name, form):
    golden = load_golden(name)
    z, c = golden.numbers["z"], golden.labels
    with use_implementation(form), torch.no_grad():
        assert_exact(golden.generator.mapping(z, c), golden.numbers["ws"])
        assert_exact(golden.generator.mapping(z, c, truncation_psi=0.7), golden.numbers["ws_psi07"])
        cut = golden.generator.mapping(z, c, truncation_psi=0.5, truncation_cutoff=3)
    assert_exact(cut, golden.numbers["ws_psi05_cut3"])


@every_network
@every_form
def test_synthesis_gives_the_authors_images(name, form):
    golden = load_golden(name)
    numbers, synthesis = golden.numbers, golden.generator.synthesis
    with use_implementation(form), torch.no_grad():
        assert_exact(synthesis(numbers["ws"], noise_mode="const"), numbers["img_const"])
        assert_exact(synthesis(numbers["ws"], noise_mode="none"), numbers["img_none"])
        assert_exact(synthesis(numbers["ws_psi07"]), numbers["img_psi07_const"])


@every_network
@every_form
def test_forward_gives_the_authors_truncated_images(name, form):
    golden = load_golden(name)
    with use_implementation(form), torch.no_grad():
        images = golden.generator(golden.numbers["z"], golden.labels, truncation_psi=0.7)
    assert_exact(images, golden.numbers["img_psi07_const"])


@every_network
@every_form
def test_discriminator_gives_the_authors_logits(name, form):
    golden = load_golden(name)
    with use_implementation(form), torch.no_grad():
        logits = golden.discriminator(golden.numbers["img_const"], golden.labels)
    assert_exact(logits, golden.numbers["logits"])


def penalty_and_gradients(discriminator, image, labels, form):
    image = image.clone().requires_grad_()
    parameters = {key: value.requires_grad_() for key, value in discriminator.named_parameters()}
    try:
        with use_implementation(form):
            (slope,) = torch.autograd.grad(discriminator(image, labels).sum(), image, create_graph=True)
            penalty = slope.square().sum([1, 2, 3])
            gradients = torch.autograd.grad(
                5 * penalty.mean(), list(parameters.values()), allow_unused=True, materialize_grads=True
            )
    finally:
        discriminator.requires_grad_(False)
    return penalty.detach(), dict(zip(parameters, gradients, strict=True))


@cache
def exact_gradients(name):
    golden = load_golden(name)
    labels = None if golden.labels is None else golden.labels.double()
    discriminator = copy.deepcopy(golden.discriminator).double()
    return penalty_and_gradients(discriminator, golden.numbers["img_const"].double(), labels, "reference")[1]


@every_network
@every_form
def test_gradient_penalty_and_its_derivative_are_the_authors(name, form):
    golden = load_golden(name)
    image = golden.numbers["img_const"]
    penalty, found = penalty_and_gradients(golden.discriminator, image, golden.labels, form)
    assert_relative(penalty, golden.numbers["r1_penalty"])
    expected = {
        key.removeprefix("r1_grad/"): value for key, value in golden.numbers.items() if "r1_grad" in key
    }
    for key, value in expected.items():
        if form == "auto":
            assert_relative_or_nearer(found.pop(key), value, exact_gradients(name)[key])
        else:
            assert_relative(found.pop(key), value)
    assert all(rest.abs().max() == 0 for rest in found.values()), "a gradient that the authors do not have"


@every_network
@every_form
def test_path_lengths_are_the_authors(name, form):
    golden = load_golden(name)
    ws = golden.numbers["ws"].clone().requires_grad_()
    with use_implementation(form):
        projection = (golden.generator.synthesis(ws) * golden.numbers["pl_noise"]).sum()
        (slope,) = torch.autograd.grad(projection, ws)
    assert_relative(slope.square().sum(2).mean(1).sqrt(), golden.numbers["pl_lengths"])


@every_network
def test_a_sample_does_not_depend_on_its_batch(name):
    golden = load_golden(name)
    z, c = golden.numbers["z"], golden.labels
    with torch.no_grad():
        whole = golden.generator(z, c)
        parts = [golden.generator(z[i : i + 1], None if c is None else c[i : i + 1]) for i in range(len(z))]
    assert_exact(torch.cat(parts), whole)


@every_network
def test_psi_as_a_tensor_is_psi_as_a_number(name):
    golden = load_golden(name)
    with torch.no_grad():
        images = golden.generator(golden.numbers["z"], golden.labels, truncation_psi=torch.tensor(0.7))
    assert_exact(images, golden.numbers["img_psi07_const"])
