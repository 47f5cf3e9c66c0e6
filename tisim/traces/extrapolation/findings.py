"""Findings about a program: its parameters, and what they leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tisim.traces.extrapolation.volumes import VolumeFit

T = TypeVar("T")

# Functions, of several that fit, that a message names.
_SHOWN = 6


@dataclass(frozen=True)
class Parameter:
    """How one parameter was extrapolated."""

    #: The call, and where it stands.
    site: str
    what: str
    #: The function that was found.
    text: str
    #: How many sizes confirm it beyond those that determine it.
    confirmed: int


@dataclass(frozen=True)
class FittedVolume:
    """The volume of the computations before a call."""

    #: The call, and where it stands.
    site: str
    fit: VolumeFit


@dataclass
class Findings:
    """Parameters, fitted volumes, and what several functions explain."""

    #: The number of ranks that is asked for.
    ranks: int
    #: Families that are taken where several fit.
    prefer: Sequence[str] = ()
    parameters: list[Parameter] = field(default_factory=list)
    volumes: list[FittedVolume] = field(default_factory=list)
    #: Parameters explained by several functions that differ at the target.
    ambiguous: list[str] = field(default_factory=list)
    #: The loops by their paths, and their iterations in the largest trace.
    loops: dict[str, int] = field(default_factory=dict)
    #: Names in `prefer` that occur.
    known: set[str] = field(default_factory=set)

    def note(self, site: str, what: str, text: str, confirmed: int) -> None:
        """Add a parameter."""
        self.parameters.append(Parameter(site, what, text, confirmed))

    def prefers(self, *names: str) -> bool:
        """True if what has these names is to be taken where others explain the same."""
        asked = {name for name in names if name in self.prefer}
        self.known |= asked
        return bool(asked)

    def only(
        self, site: str, what: str, found: list[tuple[str, str, T]], example: str = ""
    ) -> tuple[str, T]:
        """The one that is left of (family, text, value), by preference where there are several.

        `example` names a size that tells them apart.
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
            f"record another size that tells them apart{example}, or choose one, as with "
            f"--prefer {found[0][0]!r}"
        )
        return found[0][1], found[0][2]
