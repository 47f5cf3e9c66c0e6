"""Profiles: their text, and where they are attached."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.profiles import parse_profile


def test_version_3_counts_the_period_from_the_last_date() -> None:
    assert parse_profile("0 1\n20 2", 1.0, loop_after=True).period == 21.0
    assert parse_profile("0 1\n20 2", 25.0).period == 25.0
    assert parse_profile("0 1\n20 2", -1.0).period is None


@pytest.mark.parametrize(
    ("text", "period", "says", "line"),
    [
        ("5 1\n3 2", None, "do not go back, 3 does", 2),
        ("-1 1", None, "start at 0", 1),
        ("1 x", None, "'date value', not '1 x'", 1),
        ("1", None, "'date value', not '1'", 1),
        ("# nothing", None, "has no line 'date value'", 1),
        ("0 1\n20 2", 10.0, "cannot start again every 10 s", 1),
        ("0 1\nLOOPAFTER x", None, "LOOPAFTER needs a number", 2),
        ("0 1\nPERIODICITY 1\nLOOPAFTER 2", None, "PERIODICITY or LOOPAFTER, not both", 1),
        ("STOCHASTIC LOOP\nDET 1 UNIF 2 3", None, "drawn at random is not supported", 1),
    ],
)
def test_bad_profiles(text: str, period: float | None, says: str, line: int) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_profile(text, period, file="p")
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('<trace_connect trace="s" element="a"/>', "there is no trace 's'"),
        ('<trace_connect trace="t" element="b"/>', "there is no host 'b'"),
        ('<trace_connect trace="t" element="a" kind="LINK_AVAIL"/>', "there is no link 'a'"),
        ('<trace_connect trace="t" element="a" kind="COLOUR"/>', "must be one of HOST_AVAIL"),
    ],
)
def test_bad_connections(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="4.1"><trace id="t" periodicity="0">0 1</trace>'
        f'<zone id="z" routing="Full"><host id="a" speed="1"/></zone>{text}</platform>'
    )
    with pytest.raises(InputError, match=says):
        Platform.load(path)


def test_a_host_that_is_off_in_version_3(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="3"><AS id="z" routing="Full"><host id="a" power="1" state="OFF"/></AS>'
        "</platform>"
    )
    (entry,) = Platform.load(path).profiles
    assert (entry.is_link, entry.index, entry.profile.values) == (False, 0, (0.0,))


def test_a_missing_profile(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="4.1"><zone id="z" routing="Full">\n'
        '<host id="a" speed="1" speed_file="nowhere"/></zone></platform>'
    )
    with pytest.raises(InputError, match="there is no file 'nowhere'") as caught:
        Platform.load(path)
    assert caught.value.line == 2
