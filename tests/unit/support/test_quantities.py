"""Quantities with units as the DTD of SimGrid has them; quantities and tables for people."""

from __future__ import annotations

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
    ("text", "flops"),
    [
        ("5", 5.0),
        ("1e9", 1e9),
        ("3.68Gf", 3.68e9),
        ("1Ef", 1e18),
        ("2kiloflops", 2e3),
        ("2yottaflops", 2e24),
        ("1exaflops", 1e18),
        (" 7 Mf ", 7e6),
        ("0.5f", 0.5),
    ],
)
def test_speeds(text: str, flops: float) -> None:
    assert parse_speed(text) == pytest.approx(flops, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "bytes_a_second"),
    [
        ("125MBps", 125e6),
        ("1Gbps", 125e6),
        ("1KiBps", 1024.0),
        ("8Kibps", 1024.0),
        ("1EiBps", 1024.0**6),
        ("10", 10.0),
        ("1kbps", 125.0),
        ("0", 0.0),
    ],
)
def test_bandwidths(text: str, bytes_a_second: float) -> None:
    assert parse_bandwidth(text) == bytes_a_second


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15us", 15 * 1e-6),
        ("2w", 1209600.0),
        ("1d", 86400.0),
        ("1h", 3600.0),
        ("2m", 120.0),
        ("3ms", 3 * 1e-3),
        ("4ns", 4 * 1e-9),
        ("5ps", 5 * 1e-12),
        ("1.5", 1.5),
        ("0s", 0.0),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


def test_sizes() -> None:
    assert parse_size("64KiB") == 65536.0
    assert parse_size("8kb") == 1000.0


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
def test_times_as_text(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


def test_digits_and_signs_of_times() -> None:
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


def test_a_column_has_one_unit() -> None:
    assert time_column("lasts", [0.0021, 0.4]) == ["lasts (ms)", "2.100", "400.000"]
    assert quantity_column("bandwidth", "B/s", [125e6, 12.5e9]) == [
        "bandwidth (GB/s)",
        "0.125",
        "12.500",
    ]
    assert quantity_column("size", "B", [0, 12.0]) == ["size (B)", "0", "12"]
    assert quantity_column("size", "B", []) == ["size (B)"]
