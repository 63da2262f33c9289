import torch
import torch.nn.functional as F

from gantune.networks.batch_statistics import SharedBatchNorm2d, normalize_batch

X = torch.randn(6, 3, 4, 4, generator=torch.Generator().manual_seed(0)) * 2 + 1


def test_a_batch_is_normalized_and_the_stored_statistics_follow():
    mean, var = torch.zeros(3), torch.ones(3)
    normalized = normalize_batch(X, mean, var, eps=1e-12)
    by_channel = normalized.transpose(0, 1).flatten(1)
    assert torch.allclose(by_channel.mean(dim=1), torch.zeros(3), atol=1e-6)
    assert torch.allclose(by_channel.var(dim=1, correction=0), torch.ones(3), atol=1e-5)
    assert torch.allclose(mean, 0.1 * X.mean(dim=(0, 2, 3)))
    assert torch.allclose(var, 0.9 + 0.1 * X.transpose(0, 1).flatten(1).var(dim=1))


def test_one_process_alone_is_plain_batch_normalization():
    norm = SharedBatchNorm2d(3)
    expected = F.batch_norm(X, None, None, norm.weight, norm.bias, training=True)
    assert torch.equal(norm(X), expected)
    assert not torch.equal(norm.eval()(X), expected)
