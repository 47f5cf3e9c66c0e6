"""Data classes whose methods are compiled later behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, field

import pytest

from tisim.support.records import dataclass


@dataclass(frozen=True, slots=True)
class Frozen:
    """All kinds of fields."""

    a: int
    b: str = "b"
    _: KW_ONLY
    c: list[int] = field(default_factory=list, compare=False)
    d: float = field(default=2.0, repr=False)

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("below zero")


@dataclass(frozen=True, slots=True)
class Derived(Frozen):
    """A class with fields of another."""

    e: int = 5


@dataclass(slots=True)
class Open:
    """May be changed."""

    a: int
    b: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class WithDictionary:
    """Frozen, without slots."""

    a: int


@dataclass(frozen=True, slots=True)
class Empty:
    """No fields, and a text of its own."""

    def __repr__(self) -> str:
        return "empty"


STANDARD = dataclasses.make_dataclass(
    "Frozen",
    [
        ("a", int),
        ("b", str, field(default="b")),
        ("c", "list[int]", field(default_factory=list, compare=False, kw_only=True)),
        ("d", float, field(default=2.0, repr=False, kw_only=True)),
    ],
    frozen=True,
)


@pytest.mark.parametrize("names", [{"a": 1}, {"a": 1, "b": "x", "c": [3], "d": 4.0}])
def test_fields_and_text_are_those_of_the_standard_library(names: dict[str, object]) -> None:
    ours, theirs = Frozen(**names), STANDARD(**names)  # type: ignore[arg-type]
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert repr(ours) == repr(theirs)
    assert Frozen(1).c is not Frozen(1).c


def test_signature() -> None:
    def parameters(cls: type) -> list[tuple[str, object]]:
        return [(one.name, one.kind) for one in inspect.signature(cls).parameters.values()]

    assert parameters(Frozen) == parameters(STANDARD)
    Frozen(1)
    assert parameters(Frozen) == parameters(STANDARD)
    assert [name for name, _ in parameters(Derived)] == ["a", "b", "e", "c", "d"]
    assert inspect.signature(Frozen).parameters["b"].default == "b"


def test_comparison_ignores_what_is_not_compared() -> None:
    assert Frozen(1, c=[1]) == Frozen(1, c=[2])
    assert hash(Frozen(1, c=[1])) == hash(Frozen(1, c=[2]))
    assert Frozen(1) != Frozen(2)
    assert Frozen(1) != Derived(1)
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert Open(1, [2]) == Open(1, [2])
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open(1))


def test_frozen_objects_refuse_changes() -> None:
    for one in (Frozen(1), Derived(1), WithDictionary(1)):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
            one.a = 2  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
            del one.a
        with pytest.raises(FrozenInstanceError):
            one.other = 2  # type: ignore[union-attr]
    changed = Open(1)
    changed.a = 2
    assert changed.a == 2


def test_checks_of_the_class_are_made() -> None:
    with pytest.raises(ValueError, match="below zero"):
        dataclasses.replace(Derived(1), a=-1)
    assert dataclasses.replace(Derived(1, e=7), a=3) == Derived(3, e=7)


def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"Frozen\.__init__\(\) missing 1 required"):
        Frozen()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional argument"):
        Frozen(1, "b", [2])  # type: ignore[call-arg, misc]


def test_copies_and_pickles() -> None:
    for one in (Frozen(1, c=[2]), Derived(1, e=2), Open(1, [2]), WithDictionary(3), Empty()):
        assert copy.deepcopy(one) == one
        assert pickle.loads(pickle.dumps(one)) == one


def test_methods_of_the_class_stay() -> None:
    assert repr(Empty()) == "empty"
