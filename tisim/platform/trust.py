"""How far to trust a prediction: its platform's calibration and validation."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.support.reading import parse_json, read_text

# Suffix of the file of parameter sets next to a platform.
SETS_SUFFIX = ".sets.json"
# Key of the reason why the file of parameter sets cannot be read.
_DAMAGE = "damage"
# Maximum number of names listed.
_NAMES = 3


def load_basis(platform: str | os.PathLike[str]) -> dict[str, object]:
    """Return the measurements and real runs stored next to a platform file; empty if none.

    The file is that of `tisim.studies.uncertainty.ParameterSets`. A damaged file does not stop the
    replay: the sentence of `trust_text` reports it.
    """
    file = Path(platform)
    if not file.name:  # the platform never was a file
        return {}
    path = file.with_suffix(SETS_SUFFIX)
    if not path.exists():
        return {}
    try:
        content = parse_json(read_text(path), path)
    except InputError as error:
        return {_DAMAGE: str(error)}
    if not isinstance(content, dict):
        return {_DAMAGE: f"{path}: this is not an object"}
    other = other_platform(file, content)
    return content if other is None else {_DAMAGE: f"{path}: {other}"}


def other_platform(platform: Path, basis: Mapping[str, object]) -> str | None:
    """Return why a file of parameter sets belongs to another platform; None if it does not.

    It lists the options of the calibration, which must occur in the platform's file.
    """
    options = basis.get("options")
    if not isinstance(options, dict):
        return None
    text = read_text(platform)
    for name, value in options.items():
        if f'"{name}" value="{value}"' not in text:
            return (
                f"these parameter sets are for a different platform: {name} is not {value} in "
                f"{platform.name}; 'tisim calibrate -o {platform.name}' writes both"
            )
    return None


def trust_text(
    platform: str,
    basis: Mapping[str, object],
    changes: str = "",
    interval: Mapping[str, object] | None = None,
) -> str:
    """Return one sentence: calibration, validation and interval."""
    name = Path(platform).name or "the platform"
    ratios = _ratios(basis)
    if _DAMAGE in basis:
        parts = [f"{basis[_DAMAGE]}: the error is unknown"]
    elif not basis:
        parts = [f"no measurements or real runs are stored next to {name}"]
        if interval is None:
            parts[0] += ": the error is unknown"
    else:
        parts = [f"{name} was calibrated by {_listed(basis.get('measured'), 'measurements')}"]
        if ratios:
            names = _listed(basis.get("validated"), f"{len(ratios)} programs")
            low, high = min(ratios), max(ratios)
            parts.append(
                f"validated on {names}, whose real times were {low:.3g} to {high:.3g} times "
                "the predicted ones"
            )
        else:
            parts.append("not validated on a real run ('tisim validate')")
    if interval is not None:
        ends = interval_text(*(_number(interval.get(end)) for end in ("low_s", "high_s")))
        parts.append(f"{_number(interval.get('level')):.0%} interval {ends}")
    elif basis:
        parts.append("no interval (--uncertainty 20)")
    if changes:
        parts.append(f"not covered by measurements: {changes}")
    return "; ".join(parts)


def interval_text(low: float, high: float) -> str:
    """Return an interval in seconds as text, with as many digits as its width warrants."""
    width = high / low - 1 if low > 0 else math.inf
    digits = max(2, 1 - round(math.log10(max(width, 1e-8)))) if width < math.inf else 2
    return f"{low:.{digits}g} s to {high:.{digits}g} s"


def _ratios(basis: Mapping[str, object]) -> list[float]:
    """Return the ratio of real to predicted time of each validated program."""
    errors = basis.get("errors")
    known = errors if isinstance(errors, list) else []
    return [math.exp(error) for error in known if isinstance(error, float) and abs(error) < 100]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _listed(names: object, otherwise: str) -> str:
    if not isinstance(names, Sequence) or isinstance(names, str) or not names:
        return otherwise
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(str(name) for name in names[:_NAMES]) + more
