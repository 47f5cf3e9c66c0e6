"""A trace, as used throughout tisim."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from tisim import _core
from tisim.errors import InputError
from tisim.support.tables import html_facts
from tisim.traces.dialects import dialect_number
from tisim.traces.extrapolated import SECTION, Extrapolated
from tisim.traces.progress import Progress, sub_progress
from tisim.traces.sources import find_source
from tisim.traces.spool import Spool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

#: The arguments of `Trace.open`: source (with absolute paths), ranks and dialect.
Opening = tuple[str | list[str], int | None, str]

#: No noise: coefficient of variation and seed.
NO_NOISE = (0.0, 0)
_SEEDS = 2**64
# Progress share of finding files for 100,000 files; the rest determines their ranks.
_FOUND = 0.8
# Number of lines with attributes read at once.
_LINES_AT_ONCE = 4096


class Trace:
    """The actions of every rank of one run of an MPI program.

    A trace is immutable: it can serve any number of simulations, in any number of threads. Its
    actions stay in their files and are read when a simulation needs them. Create one with
    :meth:`Trace.open`.

    Examples
    --------
    >>> trace = Trace.open("traces/ring")  # doctest: +SKIP
    >>> trace.ranks  # doctest: +SKIP
    4
    """

    def __init__(
        self,
        core: _core.TraceSet,
        name: str,
        opening: Opening,
        noise: tuple[float, int] = NO_NOISE,
    ) -> None:
        self._core = core
        self._name = name
        self._opening = opening
        self._noise = noise
        self._variants: dict[tuple[object, ...], _core.TraceSet] = {}
        if noise == NO_NOISE:
            self._variants[True, False, (), (), ()] = core

    @classmethod
    def open(
        cls,
        source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        ranks: int | None = None,
        dialect: str = "auto",
        progress: Progress | None = None,
    ) -> Self:
        """Open the trace that `source` names.

        Parameters
        ----------
        source
            A directory (its files, without hidden ones and sub-directories), the files, a file
            that lists one file per line (relative to it or to the working directory), one file with
            the actions of all ranks, a tar archive of any of these, or
            ``archive.tar.xz/directory`` when an archive contains several traces. Any of them may be
            compressed with gzip, bzip2, xz or zstd. Or one packed file (``.tit``).
        ranks
            The number of ranks it must have; any number by default.
        dialect
            ``"modern"`` (SimGrid 3.20 and later: messages have tags), ``"legacy"`` or ``"auto"``,
            which detects the dialect from the lines.
        progress
            Called regularly with the completed fraction, from 0 to 1.

        Returns
        -------
        Trace

        Raises
        ------
        InputError
            When a file is missing or cannot be read, when it is not a trace, or when the ranks are
            not 0, 1, 2 and so on, each once.
        """
        number = dialect_number(dialect)
        with Spool(sub_progress(progress, 0.0, _FOUND)) as spool:
            found = find_source(source, spool)
            parts = [part.for_core() for part in found.parts]
            core = _core.open_trace(
                parts, os.fsencode(found.name), number, sub_progress(progress, _FOUND, 1.0)
            )
        if ranks is not None and core.ranks != ranks:
            have = "1 rank" if core.ranks == 1 else f"{core.ranks} ranks"
            raise InputError(f"has {have}, not {ranks}", file=found.name)
        return cls(core, found.name, (_absolute(source), ranks, dialect))

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return self._core.ranks

    @property
    def name(self) -> str:
        """Its name as given by the user."""
        return self._name

    @property
    def files(self) -> tuple[str, ...]:
        """The file of each rank; the same for all if one file contains the actions of all."""
        return tuple(self._core.file(rank) for rank in range(self.ranks))

    @property
    def dialect(self) -> str:
        """``"modern"`` or ``"legacy"``."""
        return self._core.dialect.name.lower()

    @property
    def nbytes(self) -> int:
        """Amount a simulation reads, for progress bars: bytes, or calls of a packed structure."""
        return self._core.bytes

    @property
    def actions(self) -> int | None:
        """The number of actions; None if unknown without reading all of them."""
        return self._core.actions

    @property
    def precision(self) -> str:
        """The precision of the volumes of computations in its file: usually ``"exact"``.

        See `tisim.traces.pack` for the other values.
        """
        return str(self._core.precision)

    @property
    def extrapolated(self) -> Extrapolated | None:
        """Its origin if ``tisim extrapolate`` wrote it; else None."""
        content = _core.trace_section(self._core, SECTION)
        return None if content is None else Extrapolated.decoded(content, self._name)

    @property
    def has_graph(self) -> bool:
        """True if its file also contains the GPU graph whose blocks the ranks launch."""
        return _core.trace_section(self._core, "graph") is not None

    @property
    def source(self) -> str | list[str]:
        """Its source, with absolute paths."""
        return self._opening[0]

    @property
    def opening(self) -> Opening:
        """The arguments of `Trace.open`: source (with absolute paths), ranks and dialect."""
        return self._opening

    @property
    def noise(self) -> tuple[float, int]:
        """Coefficient of variation and seed of the noise on compute volumes; 0 without noise."""
        return self._noise

    @property
    def core(self) -> _core.TraceSet:
        """The core's `TraceSet`, without custom actions."""
        return self.core_with()

    def with_noise(self, compute: float, *, seed: int = 0) -> Self:
        """Return the same trace with randomly varying compute volumes, as in a real run.

        Each volume, including the flops of reductions, is multiplied by a log-normal factor with
        mean 1. Seed, rank and the number of the computation in the rank's trace determine the
        factor's deviate; the coefficient of variation only scales it.

        Parameters
        ----------
        compute
            The coefficient of variation of the factor: its standard deviation divided by its mean.
            0.1 means 10 % of noise, 0 none.
        seed
            Determines all factors; from 0 up to 2**64 - 1.

        Returns
        -------
        Trace
            Shares its files with this trace, which is not changed. Noise of this trace is replaced,
            not added to.

        Raises
        ------
        InputError
            If the coefficient is negative or not a number, or the seed is out of range.

        Examples
        --------
        >>> trace = Trace.open("traces/ring").with_noise(0.1, seed=3)  # doctest: +SKIP
        """
        if isinstance(compute, bool) or not isinstance(compute, int | float):
            raise InputError(f"compute noise must be a coefficient of variation, not {compute!r}")
        if not 0 <= compute < float("inf"):
            raise InputError(f"compute noise must not be negative, not {compute!r}")
        if not 0 <= seed < _SEEDS:
            raise InputError(f"a seed must be a whole number from 0 to 2**64 - 1, not {seed!r}")
        return type(self)(self._core, self._name, self._opening, (float(compute), int(seed)))

    def core_with(
        self,
        *,
        mistaken_null_is_any: bool = True,
        sources_are_matched: bool = False,
        completions_are_free: bool = False,
        is_posix_layer: bool = False,
        custom_actions: Sequence[str] = (),
        speedups: Mapping[str, float] | None = None,
        volume_factors: Mapping[float, float] | None = None,
    ) -> _core.TraceSet:
        """Return the core's `TraceSet` for reading with other options.

        Parameters
        ----------
        mistaken_null_is_any
            Whether a receive from -333, which SimGrid's tracer writes for both, means
            MPI_ANY_SOURCE; otherwise MPI_PROC_NULL.
        sources_are_matched
            Whether a receive from MPI_ANY_SOURCE receives from the rank that it matched when the
            trace was recorded; otherwise it takes the first message that arrives.
        completions_are_free
            Whether a recorded waitany or waitsome takes the requests that complete first, if the
            rank's further actions do not depend on them; otherwise it takes those that it took when
            the trace was recorded.
        is_posix_layer
            Whether, of calls with ``layer=``, the POSIX ones are read; otherwise the MPI-IO ones.
        custom_actions
            Names of user-defined actions.
        speedups
            Divisors of the volumes computed between two calls, by their ``file:line:file:line``,
            which ``location`` lines name.
        volume_factors
            Multipliers of computed volumes, by volume.

        Raises
        ------
        InputError
            When a custom action has an invalid name, or when the trace does not contain the matched
            sources of receives.
        """
        if sources_are_matched and not self._core.has_matched_sources:
            raise InputError(
                "lacks the matched senders of receives from MPI_ANY_SOURCE; leave tisim/sources at "
                "any, or record the program with tisim record",
                file=self._name,
            )
        factors = tuple(sorted((speedups or {}).items()))
        drawn = tuple((volume_factors or {}).items())
        choices = (
            mistaken_null_is_any,
            sources_are_matched,
            completions_are_free,
            is_posix_layer,
        )
        key = (choices, tuple(custom_actions), factors, drawn)
        if key not in self._variants:
            try:
                self._variants[key] = self._core.with_options(
                    *choices,
                    list(custom_actions),
                    *self._noise,
                    dict(factors),
                    dict(drawn),
                )
            except ValueError as error:
                raise InputError(str(error)) from None
        return self._variants[key]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of calls that its file has in addition to lines, such as ``"call_site"``.

        Only recorded packed traces have attributes.
        """
        return tuple(name for name, _ in self._core.attributes)

    def attributes_of(self, rank: int) -> Iterator[tuple[int, dict[str, int | str]]]:
        """Read the attributes of the calls of a rank.

        Parameters
        ----------
        rank
            The rank.

        Yields
        ------
        tuple
            The number of a line in the rank's file, from 1, and its attributes by name: numbers,
            or texts (a call site). Lines without attributes are left out.

        Raises
        ------
        InputError
            When there is no such rank, or when the file is damaged.

        Examples
        --------
        >>> for line, attributes in trace.attributes_of(0):  # doctest: +SKIP
        ...     print(line, attributes)
        3 {'call_site': 'main (ring.c:12)', 'matched': 3}
        """
        if not 0 <= rank < self.ranks:
            raise InputError(f"has no rank {rank}; its {self.ranks} ranks start at 0")
        kinds = self._core.attributes
        if not kinds:
            return
        texts = self._core.attribute_texts
        reader = self._core.open_attributes(rank)
        while rows := reader.read(_LINES_AT_ONCE):
            for line, of_line in groupby(rows, key=itemgetter(0)):
                yield (
                    line,
                    {
                        kinds[number][0]: texts[value] if kinds[number][1] else value
                        for _, number, value in of_line
                    },
                )

    def operations(
        self, rank: int, *, batch: int = 65536, custom_actions: Sequence[str] = ()
    ) -> Iterator[NDArray[np.void]]:
        """Read the operations of a rank in batches.

        Parameters
        ----------
        rank
            The rank.
        batch
            Maximum number of operations per batch.
        custom_actions
            Names of user-defined actions, such as ``unsupported`` of recorded traces.

        Yields
        ------
        numpy.ndarray
            At most `batch` rows with the fields ``kind`` (a `tisim.traces.Kind`), ``flags``,
            ``comm``, ``peer``, ``amount`` (flops or seconds), ``bytes``, ``call``, ``tag`` and
            ``line``; ``amount``, ``bytes`` and ``call`` share their bytes.

        Raises
        ------
        InputError
            When a line is wrong.
        """
        import numpy as np

        row = np.dtype(cast("DTypeLike", _core.OP_LAYOUT))
        core = self.core_with(custom_actions=custom_actions)
        reader = core.open(rank, _core.CallTable())
        while len(rows := cast("NDArray[np.uint8]", reader.read(batch))):
            yield rows.view(row)

    def __len__(self) -> int:
        return self.ranks

    def __repr__(self) -> str:
        return f"<Trace {self._name!r}, {self.ranks} ranks, {self.dialect}>"

    def _repr_html_(self) -> str:
        actions = "unknown until it is read" if self.actions is None else f"{self.actions:,}"
        rows = (("ranks", f"{self.ranks:,}"), ("actions", actions), ("dialect", self.dialect))
        return html_facts(f"Trace {self._name}", rows)

    def __reduce__(self) -> tuple[object, ...]:
        return _open, (type(self), *self._opening, self._noise)


def _open(
    kind: type[Trace],
    source: str | list[str],
    ranks: int | None,
    dialect: str,
    noise: tuple[float, int],
) -> Trace:
    trace = kind.open(source, ranks=ranks, dialect=dialect)
    return trace.with_noise(noise[0], seed=noise[1])


def _absolute(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> str | list[str]:
    """Return the source with absolute paths, valid in any working directory."""
    if isinstance(source, str | os.PathLike):
        return str(Path(source).absolute())
    return [str(Path(path).absolute()) for path in source]
