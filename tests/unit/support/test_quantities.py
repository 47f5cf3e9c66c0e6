"""Quantities with the units of SimGrid's DTD; quantities and tables formatted for people."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tisim.errors import InputError
from tisim.support.quantities import (
    format_bytes,
    format_quantity,
    format_seconds,
    format_time,
    parse_bandwidth,
    parse_size,
    parse_speed,
    parse_time,
)
from tisim.support.tables import align, quantity_column, time_column


@pytest.mark.parametrize(
    ("parse", "texts", "numbers"),
    [
        (parse_speed, "5 1e9 3.68Gf 1Ef 2kiloflops", (5, 1e9, 3.68e9, 1e18, 2e3)),
        (parse_speed, "2yottaflops 1exaflops 0.5f", (2e24, 1e18, 0.5)),
        (parse_bandwidth, "125MBps 1Gbps 1kbps 10 0", (125e6, 125e6, 125, 10, 0)),
        (parse_bandwidth, "1KiBps 8Kibps 1EiBps", (1024, 1024, 1024**6)),
        (parse_time, "2w 1d 1h 2m 1.5 0s", (1209600, 86400, 3600, 120, 1.5, 0)),
        (parse_time, "3ms 15us 4ns 5ps", (3 * 1e-3, 15 * 1e-6, 4 * 1e-9, 5 * 1e-12)),
        (parse_size, "64KiB 8kb", (65536, 1000)),
    ],
)
def test_numbers_with_units(
    parse: Callable[[str], float], texts: str, numbers: tuple[float, ...]
) -> None:
    relative = 1e-15 if parse is parse_speed else 0
    assert [*map(parse, texts.split())] == pytest.approx(numbers, rel=relative, abs=0)


def test_blanks_around_numbers_and_units() -> None:
    assert parse_speed(" 7 Mf ") == pytest.approx(7e6, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1KBps", "unknown unit 'KBps'.*did you mean kbps or kBps"),
        ("1parsec", "unknown unit 'parsec'"),
        ("fast", "must be a number with a unit, such as 1Bps, not 'fast'"),
        ("", "must be a number"),
        ("-1MBps", "not negative"),
        ("1e400", "finite"),
        ("nan", "must be a number"),
        ("0x10", "unknown unit 'x10'"),
    ],
)
def test_rubbish(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_bandwidth(text)


def test_an_error_names_its_place() -> None:
    with pytest.raises(InputError, match="speed of host a") as caught:
        parse_speed("1x", "speed of host a", file="p.xml", line=7)
    assert (caught.value.file, caught.value.line) == ("p.xml", 7)


def test_times_as_text() -> None:
    seconds = (0, 3, 0.5, 1.5e-5, 2e-9, -1.23456e-3)
    assert [*map(format_time, seconds)] == ["0 s", "3 s", "500 ms", "15 us", "2 ns", "-1.235 ms"]
    assert format_time(1.23456789, 6) == "1.23457 s"
    assert format_time(0.25, signed=True) == "+250 ms"
    assert format_time(-0.25, signed=True) == "-250 ms"
    assert format_seconds(1 / 3) == "0.333333 s"


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
    # A Japanese character takes two columns, a combining accent none.
    assert align([("host", "n"), ("\u7bc0\u70b9", "10"), ("e\u0301", "1")], left=1) == [
        "host   n",
        "\u7bc0\u70b9  10",
        "e\u0301      1",
    ]


def test_a_column_has_one_unit() -> None:
    assert time_column("lasts", [0.0021, 0.4]) == ["lasts (ms)", "2.100", "400.000"]
    assert quantity_column("bandwidth", "B/s", [125e6, 12.5e9]) == [
        "bandwidth (GB/s)",
        "0.125",
        "12.500",
    ]
    assert quantity_column("size", "B", [0, 12.0]) == ["size (B)", "0", "12"]
    assert quantity_column("size", "B", []) == ["size (B)"]
