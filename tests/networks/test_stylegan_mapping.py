"""The mapping network: normalization, truncation, the average w, and refusals."""

import pytest
import torch

from gantune.errors import UsageError
from gantune.networks.stylegan_mapping import MappingNetwork, MappingOptions, normalize_second_moment


def build_mapping(*, z_dim=4, c_dim=0, num_ws=5, **options):
    torch.manual_seed(2)
    mapping = MappingNetwork(z_dim, c_dim, 6, num_ws, options=MappingOptions(num_layers=2, **options))
    if mapping.w_avg is not None:
        mapping.w_avg.copy_(torch.arange(6.0))
    return mapping.eval().requires_grad_(False)


def test_rows_are_scaled_to_a_mean_square_of_one():
    found = normalize_second_moment(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    expected = torch.tensor([[3.0, 4.0], [0.0, 0.0]]) / (12.5**0.5)
    torch.testing.assert_close(found, expected)


def test_the_scale_of_z_is_without_effect():
    mapping, z = build_mapping(), torch.randn(3, 4)
    torch.testing.assert_close(mapping(5 * z), mapping(z))


def test_every_layer_gets_the_same_w():
    ws = build_mapping()(torch.randn(3, 4))
    assert ws.shape == (3, 5, 6)
    assert torch.equal(ws, ws[:, :1].expand_as(ws))


def test_psi_zero_gives_the_average_w_up_to_the_cutoff_and_w_behind_it():
    mapping, z = build_mapping(), torch.randn(3, 4)
    ws = mapping(z, truncation_psi=0, truncation_cutoff=2)
    assert torch.equal(ws[:, :2], torch.arange(6.0).expand(3, 2, 6))
    assert torch.equal(ws[:, 2:], mapping(z)[:, 2:])


def test_psi_moves_on_a_line_through_the_average():
    mapping, z = build_mapping(), torch.randn(3, 4)
    average = torch.arange(6.0)
    torch.testing.assert_close(
        mapping(z, truncation_psi=1.5) - average, 1.5 * (mapping(z) - average), rtol=1e-5, atol=1e-5
    )


def test_the_average_moves_by_its_beta_when_asked():
    mapping, z = build_mapping(w_avg_beta=0.75), torch.randn(3, 4)
    w = mapping(z)[:, 0]
    assert torch.equal(mapping.w_avg, torch.arange(6.0))
    mapping(z, update_emas=True)
    torch.testing.assert_close(mapping.w_avg, 0.75 * torch.arange(6.0) + 0.25 * w.mean(dim=0))


def test_double_precision_latents_and_integer_labels_are_taken_as_float32():
    mapping = build_mapping(c_dim=3)
    z, c = torch.randn(2, 4), torch.eye(3)[:2]
    found = mapping(z.double(), c.long())
    assert found.dtype == torch.float32
    assert torch.equal(found, mapping(z, c))


@pytest.mark.parametrize("z", [torch.zeros(2, 5), torch.zeros(4), torch.zeros(2, 1, 4)])
def test_a_latent_of_a_wrong_shape_is_refused(z):
    with pytest.raises(UsageError, match=r"input z has the shape .*takes \[N, 4\]"):
        build_mapping()(z)


def test_a_missing_label_is_refused():
    with pytest.raises(UsageError, match=r"needs the input c of shape \[N, 3\]"):
        build_mapping(c_dim=3)(torch.zeros(2, 4))


def test_truncation_without_an_average_is_refused():
    with pytest.raises(UsageError, match="keeps none"):
        build_mapping(w_avg_beta=None)(torch.zeros(2, 4), truncation_psi=0.5)
