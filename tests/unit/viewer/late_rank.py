"""A recorded program in which one rank once computes for too long."""

from __future__ import annotations

from pathlib import Path

from tests.unit.trace_library.recorded import TEXT, Program

LATE = 5
_RANKS = 8
_ITERATIONS = 12
_SOLVE = "main (lu.c:10) > solve (lu.c:40)"


def record_late_rank(folder: Path) -> Path:
    """Ranks in a ring pass on what they have, and add up now and then.

    Rank 5 computes 3.6e7 more in the seventh iteration: 10 ms at 3.6 Gf.
    """
    program = Program(_RANKS)
    for number, rank in enumerate(program.ranks):
        site = rank.attribute("call_site", TEXT)
        rank.call("init", attributes={site: rank.text("main (lu.c:3)")})
        to, source = (number + 1) % _RANKS, (number - 1) % _RANKS
        calls = [(f"send {to} 0 20000", 77), (f"recv {source} 0 20000", 78)]
        for iteration in range(_ITERATIONS):
            late = number == LATE and iteration == 6
            rank.compute(39_000_000 if late else 3_000_000)
            for call, line in calls if number % 2 == 0 else calls[::-1]:
                where = rank.text(f"{_SOLVE} > exchange (lu.c:{line})")
                rank.call(call, attributes={site: where})
            if iteration % 3 == 2:
                where = rank.text(f"{_SOLVE} > norm (lu.c:90)")
                rank.call("allreduce 8000 1000", attributes={site: where})
        rank.call("finalize", attributes={site: rank.text("main (lu.c:20)")})
    return program.write(folder / "late.tit")
