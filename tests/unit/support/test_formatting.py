"""Quantities and tables as text for people."""

from __future__ import annotations

import pytest

from tisim.support.quantities import format_bytes, format_quantity, format_seconds, format_time
from tisim.support.tables import align, quantity_column, time_column


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (3, "3 s"),
        (0.5, "500 ms"),
        (1.5e-5, "15 us"),
        (2e-9, "2 ns"),
        (-1.23456e-3, "-1.235 ms"),
    ],
)
def test_times(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


def test_digits_and_signs_of_times() -> None:
    assert format_time(1.23456789, 6) == "1.23457 s"
    assert format_time(0.25, signed=True) == "+250 ms"
    assert format_time(-0.25, signed=True) == "-250 ms"
    assert format_seconds(1 / 3) == "0.333333333 s"


@pytest.mark.parametrize(
    ("value", "text"),
    [(125e6, "125 MB/s"), (1.1625e9, "1.163 GB/s"), (5, "5 B/s"), (0, "0 B/s"), (2e15, "2 PB/s")],
)
def test_quantities(value: float, text: str) -> None:
    assert format_quantity(value, "B/s") == text


def test_bytes() -> None:
    assert [format_bytes(n) for n in (7, 1500, 10**12)] == ["7 B", "1.5 kB", "1 TB"]


def test_columns_are_aligned() -> None:
    rows = [("name", "n", "note"), ("a", "10", "x")]
    assert align(rows) == ["name   n  note", "a     10     x"]
    assert align(rows, left=(0, 2)) == ["name   n  note", "a     10  x"]
    assert align([]) == []


def test_a_column_has_one_unit() -> None:
    assert time_column("lasts", [0.0021, 0.4]) == ["lasts (ms)", "2.100", "400.000"]
    assert quantity_column("bandwidth", "B/s", [125e6, 12.5e9]) == [
        "bandwidth (GB/s)",
        "0.125",
        "12.500",
    ]
    assert quantity_column("size", "B", [0, 12.0]) == ["size (B)", "0", "12"]
    assert quantity_column("size", "B", []) == ["size (B)"]
