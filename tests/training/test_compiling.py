import pytest
import torch

from gantune.errors import UnavailableError
from gantune.training import AugmentOptions, NetworkShape, SpeedOptions
from gantune.training.compiling import CompiledForms, check_compiler
from gantune.training.saving import _state_tensors
from training_samples import small_recipe, steps_on_random_images


# Torch's compiler itself reads the attribute that its warning is about.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize("cfg", ["stylegan2", "dcgan"])
def test_compiled_phases_have_the_gradients_of_eager_ones(cfg):
    shape = NetworkShape(cfg=cfg, channel_base=128, channel_max=16, latent_dim=8, map_depth=2)
    recipe = small_recipe(shape=shape, augment=AugmentOptions(kind="none"))
    eager = _state_tensors(steps_on_random_images(recipe, 1))
    compiled = _state_tensors(steps_on_random_images(recipe, 1, speed=SpeedOptions(workers=0, compiled=True)))
    moments = [name for name in eager if name.endswith("exp_avg")]
    assert moments
    for name in moments:
        scale = max(1.0, float(eager[name].abs().max()))
        assert (compiled[name] - eager[name]).abs().max() <= 1e-5 * scale, name


def test_only_first_order_phases_run_compiled(monkeypatch):
    seen = []

    def compile_as_is(forward):
        def recorded(*arguments, **options):
            seen.append(torch.is_grad_enabled())
            return forward(*arguments, **options)

        return recorded

    monkeypatch.setattr(torch, "compile", compile_as_is)
    recipe = small_recipe(g_reg_interval=1, d_reg_interval=1, augment=AugmentOptions(kind="none"))
    steps_on_random_images(recipe, 1, speed=SpeedOptions(workers=0, compiled=True))
    # Synthesis and discriminator of g_main; synthesis without gradients, fakes and reals of d_main.
    assert seen == [True, True, False, True, True]
    steps_on_random_images(recipe, 1)
    assert len(seen) == 5


def test_a_form_is_compiled_once_and_the_module_is_as_before(monkeypatch):
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda forward: compiled.append(forward) or forward)
    layer, forms = torch.nn.Linear(2, 2), CompiledForms()
    for _ in range(2):
        with forms.in_use(layer):
            assert "forward" in vars(layer)
        assert "forward" not in vars(layer)
    assert len(compiled) == 1


def test_a_machine_without_a_compiler_is_told_so(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UnavailableError, match="--compile needs a C\\+\\+ compiler"):
        check_compiler()
