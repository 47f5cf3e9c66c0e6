"""Sets of parameters in a file beside their platform."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError
from tisim.support.files import write_file

_SUFFIX = ".sets.json"


@dataclass(frozen=True)
class ParameterSets:
    """Whole sets of options, each as likely as the others.

    Attributes
    ----------
    seed
        Of the random numbers by which they were drawn.
    sets
        Options and their values.
    errors
        What the parameters do not explain: the natural logarithm of the real over the predicted
        time of programs that `tisim validate` has compared on this platform.
    """

    seed: int
    sets: tuple[Mapping[str, str], ...]
    errors: tuple[float, ...] = ()

    @staticmethod
    def path_beside(platform: str | os.PathLike[str]) -> Path:
        """The name of the file beside a platform: ``x.sets.json`` beside ``x.xml``."""
        return Path(platform).with_suffix(_SUFFIX)

    def write(self, platform: str | os.PathLike[str]) -> Path:
        """Write the sets beside a platform file; return the name of the file.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        path = self.path_beside(platform)
        content = {
            "seed": self.seed,
            "sets": [dict(one) for one in self.sets],
            "errors": [*self.errors],
        }
        write_file(path, json.dumps(content, indent=1) + "\n")
        return path

    @classmethod
    def beside(cls, platform: str | os.PathLike[str]) -> ParameterSets:
        """Read the sets beside a platform file.

        Raises
        ------
        InputError
            If there are none, or the file is not one of them.
        """
        path = cls.path_beside(platform)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(
                f"there are no sets of parameters beside the platform {os.fspath(platform)}; "
                f"'tisim calibrate measured.csv -o {os.fspath(platform)}' writes them to {path}"
            ) from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InputError(f"cannot read these sets of parameters: {error}", file=path) from None
        sets = content.get("sets") if isinstance(content, dict) else None
        errors = content.get("errors", []) if isinstance(content, dict) else None
        if (
            not isinstance(sets, list)
            or not sets
            or not all(map(_is_set, sets))
            or not isinstance(errors, list)
            or not all(map(_is_error, errors))
        ):
            raise InputError(
                "this is no file of parameter sets; calibrate again to write one", file=path
            )
        return cls(int(content.get("seed", 0)), tuple(sets), tuple(errors))


def _is_error(content: object) -> bool:
    return isinstance(content, float) and math.isfinite(content)


def _is_set(content: object) -> bool:
    return isinstance(content, dict) and all(
        isinstance(key, str) and isinstance(value, str) for key, value in content.items()
    )
