"""Memoization with a fixed point: each answer is computed once, including answers of recursive questions."""

from __future__ import annotations

from deltos.domains.graph.kernel.memo import FixpointMemo


def test_an_answer_is_computed_once_and_adds_its_dependencies_each_time() -> None:
    memo = FixpointMemo()
    calls: list[str] = []

    def compute() -> int:
        calls.append("x")
        memo.depend("a.ts")
        return 1

    assert memo.ask("q", compute) == 1
    memo.dependencies = set()
    assert memo.ask("q", compute) == 1
    assert (calls, memo.dependencies) == (["x"], {"a.ts"})


def test_a_cycle_gives_the_same_answers_from_either_side() -> None:
    def answers(order: str) -> dict[str, frozenset[str]]:
        memo = FixpointMemo()

        def ask(name: str) -> frozenset[str]:
            other = "b" if name == "a" else "a"

            def compute() -> frozenset[str]:
                memo.depend(f"{name}.ts")
                return (ask(other) or frozenset()) | {name}

            return memo.ask(name, compute)

        return {name: ask(name) for name in order} | {"dependencies": frozenset(memo.dependencies)}

    assert answers("ab") == answers("ba")
    assert answers("ab")["a"] == frozenset("ab")


def test_answers_of_an_exhausted_computation_are_not_cached() -> None:
    memo = FixpointMemo()

    def compute() -> int:
        memo.is_exhausted = True
        return 1

    memo.ask("q", compute)
    memo.is_exhausted = False
    assert memo.ask("q", lambda: 2) == 2


def test_questions_nested_too_deeply_are_unknown() -> None:
    memo = FixpointMemo()

    def ask(depth: int) -> int | None:
        return memo.ask(depth, lambda: ask(depth + 1) if depth < 1_000 else depth)

    assert ask(0) is None
    assert memo.is_exhausted
