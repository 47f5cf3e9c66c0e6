"""The origin of an extrapolated trace: the section `extrapolation` (docs/tit.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from tisim.errors import InputError
from tisim.support.files import write_file

#: The name of the section.
SECTION = "extrapolation"


@dataclass(frozen=True)
class LeaveOneOutFit:
    """A volume refitted without one of the sizes."""

    #: The omitted number of ranks.
    size: int
    #: The fitted value at the target.
    volume: float
    #: Relative error of the fit at the omitted size: (actual volume - fitted) / fitted.
    error: float


@dataclass(frozen=True)
class ExtrapolatedVolume:
    """The volume of the computations before a call."""

    #: The call and its location.
    site: str
    #: The fitted function of the number of ranks.
    family: str
    #: Its value at the target, as in the trace.
    volume: int
    #: The fits that omit one of the sizes at which the call was recorded.
    leave_one_out: tuple[LeaveOneOutFit, ...]

    @property
    def interval(self) -> tuple[float, float]:
        """Smallest and largest volume over the leave-one-out fits, each plus or minus its error."""
        ends = [
            out.volume * (1.0 + sign * abs(out.error))
            for out in self.leave_one_out
            for sign in (-1, 1)
        ]
        return max(min(ends), 0.0), max(ends)


@dataclass(frozen=True)
class Extrapolated:
    """How an extrapolated trace was made."""

    #: The numbers of ranks of the source traces.
    sizes: tuple[int, ...]
    #: Every fitted volume; empty if all volumes are exact.
    volumes: tuple[ExtrapolatedVolume, ...]
    #: Actions whose numbers depend on data, and how these were approximated: ``"means"`` or
    #: ``"distributions"``.
    approximate: Mapping[str, str]

    def factors(self, seed: int) -> dict[float, float]:
        """Draw the volumes: a multiplier for each volume of the trace, by that volume.

        One size is left out and its error is scaled by one normal deviate, the same for all calls:
        deviations between sizes affect the whole program, so errors of volumes do not average out.
        """
        import numpy as np

        random = np.random.default_rng(seed)
        chosen, deviate = int(random.integers(len(self.sizes))), float(random.standard_normal())
        factors: dict[float, float] = {}
        for fitted in self.volumes:
            known = fitted.leave_one_out[chosen % len(fitted.leave_one_out)]
            drawn = max(known.volume * (1.0 + deviate * known.error), 0.0)
            factors.setdefault(float(fitted.volume), drawn / fitted.volume)
        return factors

    def text(self) -> str:
        """Describe how the trace was made."""
        shown = [f"{size:,}" for size in self.sizes]
        made = f"extrapolated from {', '.join(shown[:-1])} and {shown[-1]} ranks"
        for action, how in self.approximate.items():
            made += f"; the numbers of {action} are data, approximate: {how}"
        return made

    def encoded(self) -> bytes:
        """Encode the section."""
        content = {
            "sizes": list(self.sizes),
            "approximate": dict(self.approximate),
            "volumes": [
                {
                    "site": fitted.site,
                    "family": fitted.family,
                    "volume": fitted.volume,
                    "left_out": [[out.size, out.volume, out.error] for out in fitted.leave_one_out],
                }
                for fitted in self.volumes
            ],
        }
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def decoded(cls, content: bytes, file: str) -> Extrapolated:
        """Decode the section of a file. Raises InputError when it is damaged."""
        try:
            found = json.loads(content)
            volumes = tuple(
                ExtrapolatedVolume(
                    str(fitted["site"]),
                    str(fitted["family"]),
                    int(fitted["volume"]),
                    tuple(
                        LeaveOneOutFit(int(s), float(v), float(e)) for s, v, e in fitted["left_out"]
                    ),
                )
                for fitted in found["volumes"]
            )
            sizes = tuple(int(size) for size in found["sizes"])
            approximate = {str(key): str(how) for key, how in found["approximate"].items()}
            if not sizes or not all(
                fitted.leave_one_out and fitted.volume > 0 for fitted in volumes
            ):
                raise ValueError("a volume has no size")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"its section {SECTION} is damaged ({error}); extrapolate it again", file=file
            ) from None
        return cls(sizes, volumes, approximate)


def add_extrapolated(trace: str | os.PathLike[str], made: Extrapolated) -> None:
    """Add the origin of the trace to a packed file. Raises InputError when the file cannot be read
    or written.
    """
    # Needs the compiled core.
    from tisim.traces.packed_program import with_section

    write_file(trace, with_section(trace, SECTION, made.encoded()))
