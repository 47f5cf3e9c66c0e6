"""Findings about a program: its parameters, and the ambiguities that remain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tisim.traces.extrapolation.volumes import VolumeFit

T = TypeVar("T")

# Maximum number of fitting functions named in a message.
_SHOWN = 6


@dataclass(frozen=True)
class Parameter:
    """The extrapolation of one parameter."""

    #: The call and its location.
    site: str
    what: str
    #: The function found.
    text: str
    #: Number of sizes that confirm it beyond those that determine it.
    confirming_sizes: int


@dataclass(frozen=True)
class FittedVolume:
    """The volume of the computations before a call."""

    #: The call and its location.
    site: str
    fit: VolumeFit


@dataclass
class Findings:
    """Parameters, fitted volumes, and ambiguous parameters."""

    #: The requested number of ranks.
    ranks: int
    #: Families preferred if several fit.
    prefer: Sequence[str] = ()
    parameters: list[Parameter] = field(default_factory=list)
    volumes: list[FittedVolume] = field(default_factory=list)
    #: Parameters explained by several functions that differ at the target.
    ambiguous: list[str] = field(default_factory=list)
    #: The loops by path, with their iterations in the largest trace.
    loops: dict[str, int] = field(default_factory=dict)
    #: Names in `prefer` that match something.
    known: set[str] = field(default_factory=set)

    def note(self, site: str, what: str, text: str, confirming_sizes: int) -> None:
        """Add a parameter."""
        self.parameters.append(Parameter(site, what, text, confirming_sizes))

    def prefers(self, *names: str) -> bool:
        """Return whether one of these names is preferred over others that fit equally."""
        asked = {name for name in names if name in self.prefer}
        self.known |= asked
        return bool(asked)

    def choose(
        self, site: str, what: str, found: list[tuple[str, str, T]], example: str = ""
    ) -> tuple[str, T]:
        """Return the only one of (family, text, value), or the preferred one if there are several.

        `example` names a size that distinguishes them.
        """
        preferred = [(text, value) for family, text, value in found if self.prefers(family, text)]
        if preferred:
            return preferred[0]
        if len(found) == 1:
            return found[0][1], found[0][2]
        shown = "; ".join(
            text if text == family else f"{text} ({family!r})" for family, text, _ in found[:_SHOWN]
        )
        more = f"; and {len(found) - _SHOWN} more" if found[_SHOWN:] else ""
        self.ambiguous.append(
            f"{site}: {what} could be any of: {shown}{more}; they differ at {self.ranks} ranks; "
            f"record another size that distinguishes them{example}, or choose one, such as with "
            f"--prefer {found[0][0]!r}"
        )
        return found[0][1], found[0][2]
