"""Families of functions of the number of ranks, fitted exactly to numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from tisim.errors import InputError
from tisim.traces.extrapolation.grids import Grid

# A function of the number of ranks; None where it has no exact value.
Term = Callable[[int], Fraction | None]
#: A term in the form that users write.
FamilyTerm = Callable[[int], "int | Fraction | None"]
#: The name of a term, and its coefficient.
Slope = tuple[str, Fraction]


@dataclass(frozen=True)
class Fit:
    """A function that reproduces all observed numbers."""

    #: Its name, accepted by ``--prefer``.
    family: str
    text: str
    #: Its value at the target; None if not whole.
    value: int | None
    #: Number of sizes that confirm it beyond those that determine it.
    confirming_sizes: int
    #: Its value at any number of ranks; None where not exact.
    evaluate: Term
    #: The name of t, and a, for a function a t or a t + c.
    slope: Slope | None = None


def _power(top: int, bottom: int, ranks: int) -> Fraction | None:
    root = round(ranks ** (1 / bottom))
    return Fraction(root) ** top if root**bottom == ranks else None


def _log2(ranks: int) -> Fraction | None:
    bits = ranks.bit_length() - 1
    return Fraction(bits) if 1 << bits == ranks else None


# Exponents of the powers of P: numerators and denominators.
_POWERS = ((1, 2), (-1, 2), (1, 3), (-1, 3), (2, 3), (-2, 3), (3, 2), (-3, 2))
#: Terms t of the families a t and a t + c, by name.
TERMS: dict[str, Term] = {
    "P": lambda p: Fraction(p),
    "1/P": lambda p: Fraction(1, p),
    "log2(P)": _log2,
    "floor(log2(P))": lambda p: Fraction(p.bit_length() - 1),
    "ceil(log2(P))": lambda p: Fraction((p - 1).bit_length()),
    "P^2": lambda p: Fraction(p * p),
    "P^-2": lambda p: Fraction(1, p * p),
    **{f"P^({top}/{bottom})": partial(_power, top, bottom) for top, bottom in _POWERS},
    "P log2(P)": lambda p: None if (bits := _log2(p)) is None else p * bits,
}

# Number of nearest functions named in a message.
_SHOWN = 3
# Terms of products: the sides of even grids.
_SIDE = "side"
# The smaller and the larger share of points distributed over a side.
_ROUNDED: dict[str, Callable[[Fraction], int]] = {"floor": math.floor, "ceil": math.ceil}
_SIDES = ("P^(1/2)", "P^(-1/2)", "P^(1/3)", "P^(-1/3)")


def extrapolation(name: str) -> Callable[[FamilyTerm], FamilyTerm]:
    """Add a family of functions of the number of ranks: a t and a t + c for a term t.

    Parameters
    ----------
    name
        Name in messages and for ``--prefer``.

    Raises
    ------
    InputError
        When a family of that name exists. `extrapolate` raises it when a term fails, or has a
        value that is not exact.

    Examples
    --------
    >>> import tisim
    >>> @tisim.extrapolation("links of a ring of rings")
    ... def ring_of_rings(ranks):
    ...     return ranks + ranks // 8
    """
    if name in TERMS:
        raise InputError(f"the family {name!r} already exists")

    def add(term: FamilyTerm) -> FamilyTerm:
        def exact(ranks: int) -> Fraction | None:
            try:
                value = term(ranks)
            except Exception as error:
                raise InputError(
                    f"the family {name!r} fails at {ranks} ranks: {type(error).__name__}: {error}; "
                    "where it has no value, it may return None"
                ) from error
            if value is not None and not isinstance(value, int | Fraction):
                raise InputError(
                    f"the family {name!r} is {value!r} at {ranks} ranks; its values must be int, "
                    "Fraction or None, to be exact"
                )
            return None if value is None else Fraction(value)

        TERMS[name] = exact
        return term

    return add


def nearest_fits(
    sizes: Sequence[int], values: Sequence[int | Fraction], target: int, grids: Sequence[Grid]
) -> list[str]:
    """Return the functions a t and a t + c with the smallest errors, and these errors."""
    wanted = np.array([float(value) for value in values])
    found: list[tuple[float, str]] = []
    for name, term in {**TERMS, **_grid_terms(grids, target)}.items():
        points = [point for ranks in sizes if (point := term(ranks)) is not None]
        if len(points) < len(sizes):
            continue
        columns = [np.array([float(point) for point in points]), np.ones(len(points))]
        for count, shown in ((1, name), (2, f"{name} + c")):
            matrix = np.column_stack(columns[:count])
            solved = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
            off = np.abs(matrix @ solved - wanted) / np.maximum(np.abs(wanted), 1.0)
            found.append((float(off.max()), shown))
    return [f"{name} (off by {off:.2g} of it)" for off, name in sorted(found)[:_SHOWN]]


def _grid_terms(
    grids: Sequence[Grid], ranks: int, distributed_points: Collection[int] = ()
) -> dict[str, Term]:
    def side(grid: Grid, axis: int, of_side: Callable[[int], Fraction]) -> Term:
        def term(ranks: int) -> Fraction | None:
            sides = grid.sides(ranks)
            return None if sides is None else of_side(sides[axis])

        return term

    made: dict[str, Term] = {}
    for grid in grids:
        dimensions = len(grid.sides(ranks) or ())
        for axis in range(dimensions if dimensions > 1 else 0):
            name = f"{_SIDE} {axis + 1}"
            made[f"{name} of {grid.name}"] = side(grid, axis, Fraction)
            made[f"1 / {name} of {grid.name}"] = side(grid, axis, partial(Fraction, 1))
            for points in distributed_points:
                for rounded, round_to in _ROUNDED.items():
                    of_side = partial(_share, round_to, points)
                    made[f"{rounded}({points} / {name}) of {grid.name}"] = side(grid, axis, of_side)
    return made


def fits(
    sizes: Sequence[int],
    values: Sequence[int | Fraction],
    target: int,
    grids: Sequence[Grid],
    distributed_points: Collection[int] = (),
) -> list[Fit]:
    """Return all functions that give these values for these numbers of ranks, with one size to
    spare. Functions of the sides of `grids` are tried, and of the `distributed_points` (see
    `tisim.traces.extrapolation.features`).
    """
    wanted = [Fraction(value) for value in values]
    if len(set(wanted)) == 1:
        count = len(set(sizes))
        value = _whole(wanted[0])
        return [Fit("constant", str(wanted[0]), value, count - 1, lambda _: wanted[0])]
    found: list[Fit] = []
    for name, term in {**TERMS, **_grid_terms(grids, target, distributed_points)}.items():
        points = [term(ranks) for ranks in sizes]
        known = [point for point in points if point is not None]
        if len(known) == len(points):
            found += _linear(name, term, known, wanted, target, len(set(sizes)))
    found += _rounded(sizes, wanted, target)
    if not any(fit.confirming_sizes for fit in found):
        found += _products(sizes, wanted, target, _grid_terms(grids, target, distributed_points))
    return found


def depends_on_side(fit: Fit, grids: Collection[str]) -> bool:
    """Return whether it is a function of a side of one of these process grids."""
    return fit.slope is not None and any(
        _SIDE in fit.slope[0] and fit.slope[0].endswith(f" of {grid}") for grid in grids
    )


def _whole(number: Fraction | None) -> int | None:
    return int(number) if number is not None and number.denominator == 1 else None


def _linear(
    name: str, term: Term, points: list[Fraction], wanted: list[Fraction], target: int, sizes: int
) -> list[Fit]:
    """Return the functions a t and a t + c of a term t that fit."""
    scale = wanted[0] / points[0] if points[0] else Fraction(0)
    if sizes > 1 and all(scale * p == w for p, w in zip(points, wanted, strict=True)):
        at = _line(term, scale, Fraction(0))
        return [Fit(name, f"{scale} {name}", _whole(at(target)), sizes - 1, at, (name, scale))]
    other = next((i for i, p in enumerate(points) if p != points[0]), None)
    if other is None or sizes < 3:
        return []
    slope = (wanted[other] - wanted[0]) / (points[other] - points[0])
    offset = wanted[0] - slope * points[0]
    if any(slope * p + offset != w for p, w in zip(points, wanted, strict=True)):
        return []
    at = _line(term, slope, offset)
    text = f"{slope} {name} {'-' if offset < 0 else '+'} {abs(offset)}"
    return [Fit(f"{name} + c", text, _whole(at(target)), sizes - 2, at, (name, slope))]


def _line(term: Term, slope: Fraction, offset: Fraction) -> Term:
    def at(ranks: int) -> Fraction | None:
        point = term(ranks)
        return None if point is None else slope * point + offset

    return at


def _products(
    sizes: Sequence[int], wanted: list[Fraction], target: int, of_grids: dict[str, Term]
) -> list[Fit]:
    """Return the fitting functions a t (u + c) and a (t + c)^2 of sides t and u or inverses."""
    count = len(set(sizes))
    if count < 3:
        return []
    sides = {name: TERMS[name] for name in _SIDES} | of_grids
    found: list[Fit] = []
    for (name, t), (other, u) in product(sides.items(), repeat=2):
        first = [point for ranks in sizes if (point := t(ranks))]
        second = [point for ranks in sizes if (point := u(ranks))]
        if len(first) < len(sizes) or len(second) < len(sizes):
            continue
        # wanted / t = a u + a c is a line in u.
        over = [w / p for p, w in zip(first, wanted, strict=True)]
        for fit in _linear(other, u, second, over, target, count):
            at = _times(t, fit.evaluate)
            family = f"{name} ({fit.family})"
            text = f"{name} ({fit.text})"
            found.append(Fit(family, text, _whole(at(target)), fit.confirming_sizes, at))
    for name, t in sides.items():
        points = [point for ranks in sizes if (point := t(ranks))]
        squares = [_root(w / wanted[0]) for w in wanted] if wanted[0] else []
        roots = [root for root in squares if root is not None]
        if len(points) < len(sizes) or len(roots) < len(sizes):
            continue
        for fit in _linear(name, t, points, roots, target, count):
            at = _times(lambda _: wanted[0], _times(fit.evaluate, fit.evaluate))
            text = f"{wanted[0]} ({fit.text})^2"
            found.append(
                Fit(f"({fit.family})^2", text, _whole(at(target)), fit.confirming_sizes, at)
            )
    return found


def _root(number: Fraction) -> Fraction | None:
    """Return the square root if it is a fraction."""
    if number < 0:
        return None
    root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
    return root if root * root == number else None


def _times(one: Term, other: Term) -> Term:
    def at(ranks: int) -> Fraction | None:
        left, right = one(ranks), other(ranks)
        return None if left is None or right is None else left * right

    return at


def _rounded(sizes: Sequence[int], wanted: list[Fraction], target: int) -> list[Fit]:
    """Return the fitting functions floor(n / P) and ceil(n / P)."""
    if any(w.denominator != 1 or w < 0 for w in wanted) or len(set(sizes)) < 2:
        return []
    pairs = [(p, int(w)) for p, w in zip(sizes, wanted, strict=True)]
    found: list[Fit] = []
    for name, round_to, least, most in (
        (
            "floor",
            math.floor,
            max(p * w for p, w in pairs),
            min(p * w + p - 1 for p, w in pairs),
        ),
        ("ceil", math.ceil, max(p * (w - 1) + 1 for p, w in pairs), min(p * w for p, w in pairs)),
    ):
        for n in {least, most} if least <= most else ():
            at = _part(round_to, n)
            text = f"{name}({n}/P)"
            # Many n give the smallest value on all larger numbers of ranks: it confirms none.
            smallest = 0 if name == "floor" else 1
            confirming_sizes = len({p for p, w in pairs if w > smallest}) - 1
            found.append(Fit(f"{name}(n/P)", text, _whole(at(target)), confirming_sizes, at))
    return found


def _share(round_to: Callable[[Fraction], int], points: int, side: int) -> Fraction:
    return Fraction(round_to(Fraction(points, side)))


def _part(round_to: Callable[[Fraction], int], whole: int) -> Term:
    return lambda ranks: Fraction(round_to(Fraction(whole, ranks)))
