import pytest

from gantune.cli.train_defaults import read_recipe
from gantune.errors import UsageError

OPTIONS = {"gamma": "gamma", "pl-weight": "pl_weight"}


def test_names_become_parameters(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("gamma: 0.5\npl-weight: 0\n")
    assert read_recipe(path, OPTIONS) == {"gamma": 0.5, "pl_weight": 0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gamma", "must map options to values"),
        ("gamma: [", "is not a readable recipe"),
        ("depth: 3", r"train has no option 'depth'; the options are: gamma, pl-weight"),
    ],
)
def test_a_wrong_recipe_is_refused(tmp_path, text, message):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_recipe(path, OPTIONS)


def test_a_missing_recipe_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is not a readable recipe"):
        read_recipe(tmp_path / "missing.yaml", OPTIONS)
