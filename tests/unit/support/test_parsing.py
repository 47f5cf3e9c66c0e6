"""Quantities with units, as the comment of SimGrid's DTD defines them."""

from __future__ import annotations

import pytest

from tisim.errors import InputError
from tisim.support.quantities import parse_bandwidth, parse_size, parse_speed, parse_time


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
