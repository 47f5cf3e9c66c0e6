"""The launches of a host thread, as the program of a graph: kernels with their recorded times."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

# Microseconds between the end of a kernel and the begin of one that waited for it.
_NEAR = 10.0


@dataclass(slots=True)
class Launched:
    """A kernel or copy; dates in microseconds.

    Attributes
    ----------
    communicates
        Whether it is NCCL's.
    line
        What stands for it in a graph, with ``{stream}``; None: its recorded time.
    """

    stream: str
    begin: float
    end: float
    launch: float
    communicates: bool = False
    line: str | None = None
    waits_for: Launched | None = None
    number: int = -1  # of the event that says that it has ended


class Program:
    """The activities of a host thread, by kernels and by waits: date and length.

    A kernel that began just when one of another stream had ended, later than its own stream and its
    launch explain, is taken to wait for that one.
    """

    def __init__(self, kernels: list[Launched], waits: list[tuple[float, float]]) -> None:
        self._kernels = sorted(kernels, key=lambda kernel: (kernel.launch, kernel.begin))
        self._waits = sorted(waits)
        dates = [date for date, _ in waits] + [self._kernels[0].launch]
        self.begin = min(dates)  # microseconds
        self._find_waits()

    @property
    def seconds(self) -> float:
        """From the first launch to the end of the last kernel."""
        return (max(kernel.end for kernel in self._kernels) - self.begin) * 1e-6

    def _find_waits(self) -> None:
        ends = sorted(self._kernels, key=lambda kernel: kernel.end)
        dates = [kernel.end for kernel in ends]
        last: dict[str, float] = {}
        number = 0
        for kernel in self._kernels:
            ready = max(last.get(kernel.stream, 0.0), kernel.launch)
            last[kernel.stream] = kernel.end
            if kernel.begin - ready <= _NEAR:
                continue
            for index in range(bisect_left(dates, kernel.begin - _NEAR), len(ends)):
                other = ends[index]
                if other.end > kernel.begin + 1.0:
                    break
                if other.stream != kernel.stream and other.launch < kernel.launch:
                    kernel.waits_for = other
                    if other.number < 0:
                        other.number, number = number, number + 1

    def lines(self, start: float = 0.0) -> list[str]:
        """The lines of a graph file, if the host thread begins after so many seconds."""
        streams = sorted({kernel.stream for kernel in self._kernels})
        lines = [f"host {start:.9g}"] if start > 0 else []
        host = self.begin  # the date of the host thread
        waits = iter([*self._waits, (float("inf"), 0.0)])
        wait, length = next(waits)
        for kernel in self._kernels:
            while wait < kernel.launch:
                lines += _host(host, wait) + [f"synchronize {stream}" for stream in streams]
                host = wait + length
                wait, length = next(waits)
            lines += _host(host, kernel.launch)
            host = max(host, kernel.launch)
            if kernel.waits_for is not None:
                lines.append(f"wait {kernel.stream} e{kernel.waits_for.number}")
            own = "seconds {stream} " + f"{(kernel.end - kernel.begin) * 1e-6:.9g}"
            lines.append((kernel.line or own).format(stream=kernel.stream))
            if kernel.number >= 0:
                lines.append(f"record {kernel.stream} e{kernel.number}")
        while length or wait < float("inf"):
            lines += _host(host, wait) + [f"synchronize {stream}" for stream in streams]
            host = wait + length
            wait, length = next(waits)
        return lines


def _host(now: float, then: float) -> list[str]:
    return [f"host {(then - now) * 1e-6:.9g}"] if then > now else []
