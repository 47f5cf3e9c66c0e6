"""Kernel and processor events that can be counted in addition to the volumes."""

from __future__ import annotations

import ctypes
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

#: The number of the system call perf_event_open, by machine.
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}

# Types of struct perf_event_attr.
_HARDWARE, _SOFTWARE, _RAW = 0, 1, 4
_CODE = re.compile(r"r[0-9a-f]{1,16}")
_CPUINFO = "/proc/cpuinfo"


@dataclass(frozen=True)
class Event:
    """An event: its type and code in the kernel's interface, and its weight in a sum."""

    type: int
    code: int
    weight: int = 1

    def __str__(self) -> str:
        return f"{self.type}:{self.code:x}*{self.weight}"


#: Events by their names in `perf list`.
NAMED = {
    "instructions": Event(_HARDWARE, 1),
    "cycles": Event(_HARDWARE, 0),
    "cache-references": Event(_HARDWARE, 2),
    "cache-misses": Event(_HARDWARE, 3),
    "branches": Event(_HARDWARE, 4),
    "branch-misses": Event(_HARDWARE, 5),
    "task-clock": Event(_SOFTWARE, 1),
    "page-faults": Event(_SOFTWARE, 2),
}
#: The name of the sum of floating-point operations.
FLOPS = "flops"
# Intel's FP_ARITH_INST_RETIRED, from Broadwell on: scalars, then vectors of 2, 4, 8 and 16
# elements. A fused multiply-add counts twice.
_INTEL_FLOPS = tuple(
    Event(_RAW, mask << 8 | 0xC7, elements)
    for mask, elements in ((0x03, 1), (0x04, 2), (0x18, 4), (0x60, 8), (0x80, 16))
)
# AMD's FP_RET_SSE_AVX_OPS.ALL, of Zen 1 to 3, by the family of the processor.
_AMD_FLOPS = {family: (Event(_RAW, 0xFF03),) for family in (0x17, 0x19)}


def events_of(name: str) -> tuple[Event, ...]:
    """Return the events whose sum a name counts; none if it is unknown on this machine."""
    if name in NAMED:
        return (NAMED[name],)
    if _CODE.fullmatch(name):
        return (Event(_RAW, int(name[1:], 16)),)
    return _floating_point() if name == FLOPS else ()


def _floating_point() -> tuple[Event, ...]:
    try:
        lines = Path(_CPUINFO).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    if said.get("vendor_id") == "GenuineIntel":
        return _INTEL_FLOPS
    if said.get("vendor_id") == "AuthenticAMD":
        return _AMD_FLOPS.get(int(said.get("cpu family", "0")), ())
    return ()


def obstacle(event: Event) -> str:
    """Return why an event cannot be counted here, in user mode; empty if it can."""
    number = PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None or os.uname().sysname != "Linux":
        return "no known counter on this machine"
    # struct perf_event_attr, version 1: type, size, config, period, formats, flags.
    disabled, without_kernel, without_hypervisor = 1 << 0, 1 << 5, 1 << 6
    flags = disabled | without_kernel | without_hypervisor
    head = struct.pack("<IIQQQQQ", event.type, 64, event.code, 0, 0, 0, flags)
    libc = ctypes.CDLL(None, use_errno=True)
    opened = libc.syscall(number, head.ljust(64, b"\0"), 0, -1, -1, 0)
    if opened >= 0:
        os.close(opened)
        return ""
    error = ctypes.get_errno()
    if error in (1, 13):
        return (
            "the kernel forbids counting (/proc/sys/kernel/perf_event_paranoid is above 2, or the "
            "container restricts it)"
        )
    return f"the kernel does not support this counter ({os.strerror(error)})"
