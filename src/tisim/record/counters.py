"""The counters of computations: which there are, and which of them work here."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from tisim.errors import InputError

COUNTERS = ("perf", "qemu", "register", "time")
# What a program defines that `tisim cc` has linked.
COUNTED_SYMBOL = b"tisim_counted_elsewhere"

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


def choose_counter(asked: str, program: Path | None) -> tuple[str, str]:
    """The counter to be used, and why.

    Parameters
    ----------
    asked
        One of `COUNTERS`, or ``auto``: `register` if the program counts itself, otherwise `perf`
        where it works, otherwise `time`.
    program
        The program's file, if it is known.

    Raises
    ------
    InputError
        When the counter that is asked for does not work here.
    """
    if asked in ("time", "qemu"):
        return asked, ""
    if asked == "perf":
        reason = perf_obstacle()
        if reason:
            raise InputError(f"--counter perf does not work here: {reason}; --counter auto does")
        return "perf", ""
    counts_itself = program is not None and is_counting(program)
    if asked == "register":
        if program is not None and not counts_itself:
            raise InputError(
                "--counter register needs a program that tisim cc, tisim c++ or tisim fc has "
                "compiled and linked",
                file=program,
            )
        return "register", ""
    if counts_itself:
        return "register", "the program counts its instructions itself"
    reason = perf_obstacle()
    if not reason:
        return "perf", "the processor counts instructions"
    return "time", f"no other counter works here: {reason}"


def is_counting(program: Path) -> bool:
    """Whether a program counts its instructions itself."""
    return COUNTED_SYMBOL in program.read_bytes()


def perf_obstacle() -> str:
    """Why the processor's counter of instructions cannot be read; empty if it can."""
    if os.environ.get("TISIM_RECORD_SOFTWARE_EVENT"):
        return ""
    number = _PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None or os.uname().sysname != "Linux":
        return "tisim knows no counter of this machine"
    # struct perf_event_attr, version 1: type, size, config, period, formats, flags.
    disabled, without_kernel, without_hypervisor = 1 << 0, 1 << 5, 1 << 6
    flags = disabled | without_kernel | without_hypervisor
    attributes = struct.pack("<IIQQQQQ", 0, 64, 1, 0, 0, 0, flags).ljust(64, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    event = libc.syscall(number, attributes, 0, -1, -1, 0)
    if event >= 0:
        os.close(event)
        return ""
    error = ctypes.get_errno()
    if error in (1, 13):
        return (
            "the kernel forbids counting (/proc/sys/kernel/perf_event_paranoid is above 2, or the "
            "container's rules are strict)"
        )
    return f"the kernel offers no counter of instructions ({os.strerror(error)})"
