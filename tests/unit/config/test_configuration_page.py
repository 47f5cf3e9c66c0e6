"""docs/configuration.md names every option, and every option it names is accepted."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest

from tisim import Config
from tisim.models.options import NETWORK_MODELS, OPTIONS

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
NAME = re.compile(r"`([\w/+*-]+)`")


def table_rows() -> list[tuple[list[str], str, str]]:
    """The options, the default and the effect of each row."""
    rows = []
    for line in PAGE.splitlines():
        if line.startswith("| `"):
            options, default, effect = (cell.strip() for cell in line.strip("| ").split("| "))
            rows.append((NAME.findall(options), default, effect))
    return rows


ROWS = table_rows()
PASSED_OVER = NAME.findall(PAGE.split("## What no replay uses")[1])
NAMED = [name for names, _, _ in ROWS for name in names] + PASSED_OVER


def values_of(name: str) -> list[str]:
    """What the option accepts without a warning."""
    option = OPTIONS[name]
    if name == "network/model":
        return list(NETWORK_MODELS)
    return list(option.choices) or [option.default or "anything"]


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_every_option_is_on_the_page_and_accepted(name: str) -> None:
    operation = name.removeprefix("smpi/")
    patterns = [named.replace("<operation>", operation) for named in NAMED]
    is_operation = f"`{operation}`" in PAGE.split("`smpi/<operation>`")[1].split("\n")[0]
    assert is_operation or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    for value in values_of(name):
        assert Config({name: value}).warnings == ()
        assert Config.from_items([f"--cfg={name}:{value}"]).warnings == ()


def test_every_name_on_the_page_exists() -> None:
    for name in NAMED:
        assert "*" in name or name in OPTIONS, name


def test_the_page_says_which_options_have_an_effect() -> None:
    for names, _, effect in ROWS:
        for name in names:
            used = not effect.startswith("none") and not effect.startswith("the only one")
            if name in ("host/model",):
                continue
            assert OPTIONS[name].used == used, name
    for name in PASSED_OVER:
        assert not any(OPTIONS[key].used for key in fnmatch.filter(OPTIONS, name))


def test_the_defaults_on_the_page() -> None:
    for names, default, _ in ROWS:
        known = {OPTIONS[name].default for name in names} - {""}
        if re.fullmatch(r"[\d.e-]+|yes|no|`\w+`", default) and default != "`infty`":
            wanted = default.strip("`")
            for value in known:
                assert value == wanted or float(value.split(":")[0]) == float(wanted)
