"""docs/configuration.md is made from the table of parameters, and what it says is accepted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tisim import Config
from tisim.config.page import page_with_tables
from tisim.config.table import PARAMETERS

PATH = Path(__file__).parents[3] / "docs" / "configuration.md"
PAGE = PATH.read_text()


def test_the_page_is_made_from_the_table() -> None:
    made = "\n".join(page_with_tables(PAGE.splitlines())) + "\n"
    assert made == PAGE, "run python -m tisim.config.page docs/configuration.md"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has no lines"):
        list(page_with_tables(["# Options"]))


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_option_is_on_the_page_and_accepted(name: str) -> None:
    parameter = PARAMETERS[name]
    assert f"`{name}`" in PAGE or f"`{parameter.group}`" in PAGE
    for value in parameter.choices or (parameter.default or "anything",):
        assert Config({name: value}).warnings == ()
        assert Config.from_items([f"--cfg={name}:{value}"]).warnings == ()


def test_the_page_says_which_options_have_an_effect() -> None:
    for parameter in PARAMETERS.values():
        if parameter.doc:
            assert parameter.doc.startswith("none") is not parameter.used, parameter.key


def test_every_option_of_a_replay_is_documented() -> None:
    for parameter in PARAMETERS.values():
        is_second_name = any(other.smpi_key == parameter.key for other in PARAMETERS.values())
        assert parameter.doc or is_second_name or not parameter.used, parameter.key
        assert not re.search(r"[|\n]", parameter.doc)
