"""Reads what IOR prints, and its JSON (``-O summaryFormat=JSON``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tisim.studies.calibration.disk.runs import DIRECTIONS, DiskRun, as_mapping, as_sequence

_MIB, _KIB = 1 << 20, 1 << 10
# Options of the command line with which bytes are on the disk: past the page cache, for reads and
# writes, or by fsync, for writes.
_DIRECT = re.compile(r"\s(-B|--posix\.odirect)\b")
_SYNCHRONISED = re.compile(r"\s-(?!-)\w*[eY]\b")
# Above each test, what its name and its number of processes are.
_OPTION = re.compile(r"^(test filename|tasks|Command line)(?: used)?\s*:\s*(.*?)\s*$")
_HEADER = ("access", "bw(MiB/s)")


def ior_runs(found: Mapping[str, object]) -> list[DiskRun]:
    """The runs in IOR's JSON; repetitions are runs of their own.

    Raises
    ------
    ValueError, TypeError, KeyError
        If it is something else.
    """
    command = str(found.get("Command line", ""))
    return [
        run
        for test in map(as_mapping, as_sequence(found["tests"]))
        for run in _runs_of_test(test, command)
    ]


def _runs_of_test(test: Mapping[str, object], command: str) -> Iterator[DiskRun]:
    parameters = as_mapping(test.get("Parameters", {}))
    options = as_mapping(test.get("Options", {}))
    synchronised = any(_number(parameters.get(key, 0)) for key in ("fsync", "fsyncperwrite"))
    for row in _flat(test["Results"]):
        access = str(row["access"])
        if access in DIRECTIONS:
            yield _run(
                access,
                _number(row["bwMiB"]),
                _number(row["xferKiB"]),
                int(_number(options.get("tasks", 1))),
                _is_cached(access, command, synchronised=synchronised),
                str(parameters.get("testFileName", "IOR")),
            )


def _flat(value: object) -> Iterator[Mapping[str, object]]:
    """The results, which IOR 3 puts into a list for each repetition."""
    for one in as_sequence(value):
        if isinstance(one, list):
            yield from _flat(one)
        else:
            yield as_mapping(one)


def is_ior_text(text: str) -> bool:
    """Whether IOR has printed a text."""
    return any(line.startswith("IOR-") for line in text.splitlines()[:50])


def ior_text_runs(text: str) -> list[DiskRun]:
    """The runs in what IOR prints.

    Raises
    ------
    ValueError
        If a row of its table is cut.
    """
    runs = []
    known = {"test filename": "IOR", "tasks": "1"}
    columns: Sequence[str] = ()
    for line in text.splitlines():
        option = _OPTION.match(line)
        words = line.split()
        if option is not None:
            known[option[1]] = option[2]
            columns = ()
        elif tuple(words[: len(_HEADER)]) == _HEADER:
            columns = words
        elif columns and words and words[0] in DIRECTIONS:
            row = dict(zip(columns, words, strict=True))
            runs.append(
                _run(
                    words[0],
                    float(row["bw(MiB/s)"]),
                    float(row["xfer(KiB)"]),
                    int(known["tasks"]),
                    _is_cached(words[0], f" {known.get('Command line', '')} "),
                    known["test filename"],
                )
            )
        elif columns and not words:
            columns = ()
    return runs


def _run(access: str, mib: float, xfer_kib: float, tasks: int, cached: bool, name: str) -> DiskRun:
    return DiskRun(access, mib * _MIB, _size(xfer_kib), tasks, False, cached, name)


def _is_cached(access: str, command: str, *, synchronised: bool = False) -> bool:
    if _DIRECT.search(command):
        return False
    return access == "read" or not (synchronised or _SYNCHRONISED.search(command))


def _size(kib: float) -> str:
    """A size of calls in fio's words."""
    for unit, scale in (("M", _KIB), ("K", 1)):
        if kib >= scale and kib % scale == 0:
            return f"{kib / scale:g}{unit}"
    return f"{kib * _KIB:g}"


def _number(value: object) -> float:
    if not isinstance(value, int | float | str):
        raise TypeError
    return float(value)
