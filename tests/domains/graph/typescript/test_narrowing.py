"""Narrowing of types by conditions."""

import pytest

from tests.domains.graph.typescript.resolving import resolve

TYPES = (
    "class Cat { kind = 'cat' as const; meow() {}; name() {} }\n"
    "class Dog { kind: 'dog' = 'dog'; bark() {}; name() {} }\n"
    "enum Kind { A, B }\n"
    "interface InA { tag: Kind.A; same(): void }\ninterface InB { tag: Kind.B; same(): void }\n"
    "function isCat(x: unknown): x is Cat { return true }\n"
    "declare const pet: Cat | Dog, any: unknown, either: InA | InB, text: string | Cat | (() => void)\n"
)


def referring_lines(text: str, key: str) -> list[int]:
    """Return the lines of the text (counted from 1) that refer to a member of the types."""
    start = TYPES.count("\n")
    graph = resolve({"a.ts": TYPES + text})
    return sorted(int(ref.partition(":")[2]) - start for ref in graph.references(f"a.ts#{key}"))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("pet instanceof Cat", True),
        ("!(pet instanceof Dog)", True),
        ("isCat(pet)", True),
        ("pet.kind === 'cat'", True),
        ("pet.kind !== 'dog'", True),
        ("'meow' in pet", True),
        ("pet && isCat(pet)", True),
        ("pet instanceof Dog", False),
        ("!isCat(pet)", False),
        ("pet.kind == 'dog'", False),
        ("pet instanceof Dog || !pet", False),
    ],
)
def test_a_condition_narrows_the_branch_it_guards(condition: str, holds: bool) -> None:
    yes, no = ("pet.name()", "0") if holds else ("0", "pet.name()")
    text = f"if ({condition}) {{\n  {yes}\n}} else {{\n  {no}\n}}\n"
    assert referring_lines(text, "Cat.name") == [2 if holds else 4]
    assert referring_lines(text, "Dog.name") == []


def test_an_early_exit_narrows_the_following_statements() -> None:
    text = "function f() {\n  if (!(pet instanceof Cat)) return\n  pet.name()\n}\n"
    assert (referring_lines(text, "Cat.name"), referring_lines(text, "Dog.name")) == ([3], [])
    text = "function f() {\n  if (isCat(pet)) {} else { throw 1 }\n  pet.name()\n}\n"
    assert (referring_lines(text, "Cat.name"), referring_lines(text, "Dog.name")) == ([3], [])


def test_logical_and_ternary_operators_narrow_their_operands() -> None:
    text = (
        "isCat(any) && any.meow()\n!isCat(any) || any.meow()\nisCat(any) ? any.meow() : 0\n"
        "while (isCat(any)) any.meow()\n"
    )
    assert referring_lines(text, "Cat.meow") == [1, 2, 3, 4]


def test_switch_on_a_discriminant_narrows_each_case() -> None:
    text = "switch (either.tag) {\n  case Kind.A: either.same(); break\n  case Kind.B: either.same()\n}\n"
    assert (referring_lines(text, "InA.same"), referring_lines(text, "InB.same")) == ([2], [3])


def test_cases_that_fall_through_are_not_narrowed() -> None:
    text = "switch (pet.kind) {\n  case 'cat':\n  case 'dog': pet.name()\n}\n"
    assert (referring_lines(text, "Cat.name"), referring_lines(text, "Dog.name")) == ([3], [3])


def test_typeof_narrows_to_matching_types() -> None:
    text = (
        "if (typeof text === 'object') text.name()\n"
        "if (typeof text !== 'string' && typeof text !== 'function') text.meow()\n"
    )
    assert (referring_lines(text, "Cat.name"), referring_lines(text, "Cat.meow")) == ([1], [2])


def test_a_method_may_be_a_guard_of_its_object() -> None:
    text = (
        "class Node { isLeaf(): this is Leaf { return true } }\nclass Leaf extends Node { value() {} }\n"
        "declare const n: Node\nif (n.isLeaf()) n.value()\n"
    )
    assert referring_lines(text, "Leaf.value") == [4]


def test_members_are_narrowed_as_well_as_variables() -> None:
    text = "declare const box: { pet: Cat | Dog }\nif (isCat(box.pet)) box.pet.name()\n"
    assert (referring_lines(text, "Cat.name"), referring_lines(text, "Dog.name")) == ([2], [])


def test_assignment_ends_narrowing() -> None:
    text = "let p = pet\nif (isCat(p)) {\n  p = pet\n  p.name()\n}\n"
    assert (referring_lines(text, "Cat.name"), referring_lines(text, "Dog.name")) == ([4], [4])
