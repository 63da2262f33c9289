from gantune.measuring.form_fallbacks import gather_fallbacks
from gantune.records.fallback import FormFallback

MISSING = FormFallback(operation="upfirdn2d", wanted="native", used="portable", reason="not built")
REFUSED = MISSING.model_copy(update={"operation": "bias_act", "reason": "x is empty"})


def test_a_fallback_of_many_subjects_is_named_once_with_all_of_them() -> None:
    gathered = gather_fallbacks([("as_is", ()), ("first", [MISSING]), ("second", [REFUSED, MISSING])])
    assert gathered == (
        MISSING.model_copy(update={"subjects": ("first", "second")}),
        REFUSED.model_copy(update={"subjects": ("second",)}),
    )


def test_what_was_gathered_can_be_gathered_again() -> None:
    before = gather_fallbacks([("first", [MISSING])])
    (again,) = gather_fallbacks([("first", before), ("second", [MISSING])])
    assert again.subjects == ("first", "second")
