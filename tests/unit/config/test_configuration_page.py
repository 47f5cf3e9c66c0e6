"""The tables of docs/configuration.md agree with the table of parameters."""

from __future__ import annotations

import re
from pathlib import Path

from tisim import Config
from tisim.config.kinds import FACTORS
from tisim.config.parameter import Parameter
from tisim.config.table import OPERATIONS, PARAMETERS

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
# Each line of the tables: names of options, kind and unit, default, meaning.
LINES = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| `")
]
ROWS = {name: cells for cells in LINES for name in re.findall("`([^`]+)`", cells[0])}


def documented_default(parameter: Parameter) -> str:
    """The default as the page writes it, with those of the models that have another."""
    if parameter.kind is FACTORS:
        return "by model"
    others: dict[str, list[str]] = {}
    for model, value in parameter.by_model.items():
        others.setdefault(value, []).append(model)
    models = "; ".join(f"{', '.join(names)}: {value}" for value, names in others.items())
    default = f"`{parameter.default}`" if parameter.default else ""
    return f"{default} ({models})" if models else default


def test_every_option_is_on_the_page_and_accepted() -> None:
    for name, parameter in PARAMETERS.items():
        shown = "smpi/<operation>" if name.removeprefix("smpi/") in OPERATIONS else name
        if shown in ROWS:
            _, value, default, meaning = ROWS[shown]
            unit = parameter.unit or parameter.kind.unit
            assert value == parameter.kind.name + (f", {unit}" if unit else ""), name
            assert default == documented_default(parameter), name
            assert meaning.startswith("none") is not parameter.used, name
        else:
            assert not parameter.used, name
            assert f"`{name}`" in PAGE
        for value in parameter.choices or (parameter.default or "anything",):
            assert Config({name: value}).warnings == (), name
            assert Config.from_items([f"--cfg={name}:{value}"]).warnings == (), name


def test_the_page_has_no_other_options() -> None:
    assert ROWS.keys() - {"smpi/<operation>"} <= PARAMETERS.keys()
