"""Tables of file accesses: as text for terminals and reports, and as frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from tisim.kernel.file_sums import SIZE_BOUNDS
from tisim.support.quantities import format_bytes, format_count
from tisim.support.tables import time_column

if TYPE_CHECKING:
    import pandas as pd

    from tisim.kernel.file_sums import AccessesDict, FileUseDict, IoDict, ServersDict

Row = tuple[str, ...]

#: File system name of files that are not on a file system with servers.
DISKS = "disks of hosts"
_OTHER_FILES = "(further files)"
_SERVED: Final = ("seconds", "requests", "bytes_read", "bytes_written", "waited", "awaited")
_COUNTED: Final = ("calls", "bytes", "sequential", "consecutive", "aligned", "sizes")


def directions(
    uses: Iterable[FileUseDict], ways: tuple[str, str] = ("reads", "writes")
) -> Iterator[tuple[FileUseDict, str, AccessesDict]]:
    """Yield each use with its reads, and with its writes, if there were any."""
    for use in uses:
        for way, accesses in zip(ways, (use["reads"], use["writes"]), strict=True):
            if accesses["calls"]:
                yield use, way, accesses


def title_of(use: FileUseDict) -> str:
    """Return the name of files, as in the trace."""
    return use["name"] or _OTHER_FILES


def size_class(number: int) -> str:
    """Return a size class as text, such as ``4 to 10 MB``."""
    if number == 0:
        return f"below {format_bytes(SIZE_BOUNDS[0])}"
    least = format_bytes(SIZE_BOUNDS[number - 1])
    if number == len(SIZE_BOUNDS):
        return f"{least} and more"
    most = format_bytes(SIZE_BOUNDS[number])
    amount, unit = least.split(" ")
    return f"{amount if most.endswith(f' {unit}') else least} to {most}"


def describe_order(accesses: AccessesDict, opens: int) -> str:
    """Return the order of accesses as a word, with the fraction of calls that follow it.

    The first call of each handle has no predecessor.
    """
    following = accesses["calls"] - min(opens, accesses["calls"])
    if following <= 0:
        return "one per file"
    shares = {
        "consecutive": min(accesses["consecutive"] / following, 1.0),
        "sequential": min(accesses["sequential"] / following, 1.0),
    }
    for word, share in shares.items():
        if share >= 0.5:
            return word if share == 1 else f"{word} {share:.0%}"
    return f"random {1 - shares['sequential']:.0%}"


def common_size(accesses: AccessesDict) -> str:
    """Return the most common size class, with its fraction of the calls unless that is 1."""
    sizes = accesses["sizes"]
    most = max(range(len(sizes)), key=sizes.__getitem__)
    share = sizes[most] / max(sum(sizes), 1)
    return size_class(most) + ("" if share == 1 else f" ({share:.0%})")


def access_pattern_rows(uses: Sequence[FileUseDict], most: int | None = None) -> Iterator[Row]:
    """Yield the reads and writes of each name: a heading, and the rows of at most `most` names."""
    yield ("files", "on", "", "opens", "calls", "bytes", "sizes", "order", "aligned")
    for use, way, accesses in directions(sorted(uses, key=_bytes_of, reverse=True)[:most]):
        yield (
            title_of(use),
            use["file_system"] or DISKS,
            way,
            f"{use['opens']:,}",
            f"{accesses['calls']:,}",
            format_bytes(accesses["bytes"]),
            common_size(accesses),
            describe_order(accesses, use["opens"]),
            f"{accesses['aligned'] / accesses['calls']:.0%}",
        )


def access_pattern_summary(uses: Sequence[FileUseDict], most: int) -> list[tuple[str, str, str]]:
    """Return the names with the most bytes, their volume and pattern; one row per direction."""
    rows = []
    chosen = sorted(uses, key=_bytes_of, reverse=True)[:most]
    for use, way, accesses in directions(chosen, ("read", "written")):
        calls = format_count(accesses["calls"], "call")
        how = f"{calls} of {common_size(accesses)}, {describe_order(accesses, use['opens'])}"
        rows.append((title_of(use), f"{format_bytes(accesses['bytes'])} {way}", how))
    return rows


def server_rows(io: IoDict, most: int) -> Iterator[Row]:
    """Yield the work of each file system's servers, and the time that ranks waited for them.

    Parameters
    ----------
    io
        The I/O part of a result.
    most
        Maximum number of servers listed per file system: those that ranks waited for longest.
    """
    width = io.get("bin_seconds", 0.0)
    shown = [
        (name, servers, place)
        for name, servers in io.get("file_systems", {}).items()
        for place in _busiest(servers)[:most]
    ]
    means = [servers["seconds"][i] / servers["requests"][i] for _, servers, i in shown]
    requests = time_column("a request", means)
    waits = time_column("ranks waited", [servers["waited"][i] for _, servers, i in shown])
    yield ("server", "of", "read", "written", "requests", requests[0], waits[0], "peak")
    for (name, servers, i), request, wait in zip(shown, requests[1:], waits[1:], strict=True):
        metadata = " (metadata)" if _is_metadata(servers, i) else ""
        yield (
            f"{servers['hosts'][i]}{metadata}",
            name,
            format_bytes(servers["bytes_read"][i]),
            format_bytes(servers["bytes_written"][i]),
            f"{servers['requests'][i]:,}",
            request,
            wait,
            _rate(max(total_bytes_over_time(servers, i), default=0.0), width),
        )


def wait_rows(io: IoDict, most: int) -> Iterator[Row]:
    """Yield the longest waits of ranks for servers: a heading, and at most `most` rows."""
    waits = io.get("waits", [])[:most]
    seconds = time_column("waited", [wait["seconds"] for wait in waits])
    yield ("rank", "for", "of", "calls", seconds[0])
    for wait, waited in zip(waits, seconds[1:], strict=True):
        yield (str(wait["rank"]), wait["host"], wait["file_system"], f"{wait['calls']:,}", waited)


def total_bytes_over_time(servers: ServersDict, server: int) -> list[float]:
    """Return the bytes that a server read and wrote in each time bin."""
    return added(servers["read_over_time"][server], servers["written_over_time"][server])


def added(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return the sum of two series, the shorter one padded with zeros."""
    return [a + b for a, b in zip_longest(one, other, fillvalue=0.0)]


def bandwidth_series(io: IoDict) -> Iterator[tuple[str, str, str, list[float]]]:
    """Yield bytes over time: kind of series, its name, read or written, and bytes per bin.

    The kind is ``file system``, ``files`` or ``server``. The bytes of a file system are those of
    its files, as seen by the ranks; files on disks of hosts count as one, `DISKS`.
    """
    sums: dict[tuple[str, str], list[float]] = {}
    files = []
    for use in io.get("files", []):
        home = use["file_system"] or DISKS
        for way, accesses in (("read", use["reads"]), ("written", use["writes"])):
            if over_time := accesses["over_time"]:
                files.append(("files", title_of(use), way, over_time))
                sums[home, way] = added(sums.get((home, way), []), over_time)
    yield from (("file system", home, way, series) for (home, way), series in sums.items())
    yield from files
    for servers in io.get("file_systems", {}).values():
        for place, host in enumerate(servers["hosts"]):
            for way, series in (
                ("read", servers["read_over_time"][place]),
                ("written", servers["written_over_time"][place]),
            ):
                if series:
                    yield "server", host, way, series


class FileTables:
    """File accesses as data frames, which are empty if there were none.

    Parameters
    ----------
    io
        The I/O part of a result (`tisim.Result.io`).
    """

    def __init__(self, io: IoDict | None) -> None:
        self._io: IoDict = io or {"seconds": [], "bytes_read": [], "bytes_written": [], "calls": []}

    @property
    def files(self) -> pd.DataFrame:
        """One row per name of files and direction (reads or writes).

        Columns: `files` (the name in the trace), `file_system`, `opens`, `seconds` that
        ranks waited, `way` (``reads`` or ``writes``), and for this direction `calls`, `bytes`, and
        the number of calls that were `sequential`, `consecutive`, `aligned` and in each class of
        `sizes` (`tisim.kernel.file_sums.AccessesDict`).
        """
        rows = [
            (*_use_cells(use), way, *(accesses[key] for key in _COUNTED))
            for use, way, accesses in directions(self._io.get("files", []))
        ]
        return _frame(rows, ["files", "file_system", "opens", "seconds", "way", *_COUNTED])

    @property
    def servers(self) -> pd.DataFrame:
        """One row per server of each file system; a separate metadata server is the last.

        Columns: `file_system`, `server`, `host`, `is_metadata`, `seconds` from the arrival of each
        request to its reply, `requests`, `bytes_read`, `bytes_written`, `waited`: seconds that
        ranks waited for it, `awaited`: number of calls that waited for it.
        """
        rows = [
            (name, i, host, _is_metadata(servers, i), *(servers[key][i] for key in _SERVED))
            for name, servers in self._io.get("file_systems", {}).items()
            for i, host in enumerate(servers["hosts"])
        ]
        return _frame(rows, ["file_system", "server", "host", "is_metadata", *_SERVED])

    @property
    def bandwidth(self) -> pd.DataFrame:
        """Bytes over time: one row per series and time bin with traffic.

        Columns: `of` (``file system``, ``files`` or ``server``), `name`, `way` (``read`` or
        ``written``), `begin`, `end` (s), `bytes`, `bandwidth` (bytes/s).
        """
        width = self._io.get("bin_seconds", 0.0)
        rows = [
            (of, name, way, i * width, (i + 1) * width, moved, moved / width)
            for of, name, way, series in bandwidth_series(self._io)
            for i, moved in enumerate(series)
            if moved
        ]
        return _frame(rows, ["of", "name", "way", "begin", "end", "bytes", "bandwidth"])

    @property
    def waits(self) -> pd.DataFrame:
        """The longest waits of ranks for servers: up to a hundred per file system, longest first.

        Columns: `rank`, `file_system`, `server`, `host`, `calls`, `seconds`.
        """
        columns = ["rank", "file_system", "server", "host", "calls", "seconds"]
        rows = [tuple(wait.values()) for wait in self._io.get("waits", [])]
        return _frame(rows, columns)


def _frame(rows: Sequence[tuple[object, ...]], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns))


def _use_cells(use: FileUseDict) -> tuple[str, str, int, float]:
    return title_of(use), use["file_system"] or DISKS, use["opens"], use["seconds"]


def _is_metadata(servers: ServersDict, place: int) -> bool:
    return place == len(servers["hosts"]) - 1


def _busiest(servers: ServersDict) -> list[int]:
    used = [place for place, requests in enumerate(servers["requests"]) if requests]
    return sorted(used, key=lambda place: -servers["waited"][place])


def _rate(nbytes: float, seconds: float) -> str:
    return f"{format_bytes(nbytes / seconds)}/s" if nbytes and seconds else "-"


def _bytes_of(use: FileUseDict) -> int:
    return use["reads"]["bytes"] + use["writes"]["bytes"]
