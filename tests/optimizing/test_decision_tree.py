from gantune.optimizing.decision_tree import TREE, Branch, Question, walk_tree
from gantune.optimizing.situation import Situation


def situation(target: str) -> Situation:
    return Situation(
        family="dcgan", target=target, goal="latency", precision="any", instruction_sets=("avx2",)
    )


def walk_all(at: Question | Branch) -> list[Branch]:
    if isinstance(at, Branch):
        return [at]
    return [branch for answer in at.answers for branch in walk_all(answer.then)]


def test_every_branch_says_what_to_do_and_with_what() -> None:
    branches = walk_all(TREE)
    assert {branch.name for branch in branches} == {
        "cross-platform", "nvidia", "constrained", "exact", "utmost-speed",
    }  # fmt: skip
    assert all(branch.advice and branch.engines and branch.precisions for branch in branches)


def test_the_path_holds_each_question_with_the_answers_not_taken() -> None:
    branch, path = walk_tree(situation("cpu"))
    assert branch.name == "utmost-speed"
    assert [decision.answer for decision in path] == ["on a CPU like this one", "time", "inside a budget"]
    assert set(path[0].others) == {"on many platforms", "on an NVIDIA GPU", "on an edge device"}
    assert path[2].others == ("exact",)


def test_a_question_always_has_an_answer() -> None:
    def last_answers(at: Question | Branch) -> list[bool]:
        if isinstance(at, Branch):
            return []
        own = at.answers[-1].holds(situation("cpu"))
        return [own, *(held for answer in at.answers for held in last_answers(answer.then))]

    assert all(last_answers(TREE))
