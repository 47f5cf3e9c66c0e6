"""Extrapolate the recording of one rank to the other ranks of its job.

Ranks are numbered as in Megatron-LM: tensor-parallel ranks are neighbours, followed by the copies
of the model, then the stages of the pipeline. The recorded rank provides the computations, and the
sizes and strides of its groups; the other ranks do the same in their groups of the grid.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.gpu.step_graph import MAX_RANKS, Node
from tisim.gpu.step_recording import Recording, graph_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = ("tp", "dp", "pp")


@dataclass(frozen=True, slots=True)
class Parallelism:
    """A grid of ranks: tensor-parallel size, copies of the model, stages of the pipeline."""

    tp: int = 1
    dp: int = 1
    pp: int = 1

    @property
    def ranks(self) -> int:
        return self.tp * self.dp * self.pp


def read_parallelism(text: str) -> Parallelism:
    """Parse a grid such as ``tp=8,dp=16,pp=4``; missing sizes are 1."""
    sizes: dict[str, int] = {}
    for part in text.split(","):
        found = re.fullmatch(r"(tp|dp|pp)=([1-9][0-9]{0,6})", part.strip())
        if found is None or found[1] in sizes:
            raise InputError(
                f"--parallelism must be such as tp=8,dp=16,pp=4, with each of {', '.join(_NAMES)} "
                f"at most once and at least 1, not {part.strip()!r}"
            )
        sizes[found[1]] = int(found[2])
    grid = Parallelism(**sizes)
    if grid.ranks > MAX_RANKS:
        raise InputError(f"--parallelism has {grid.ranks:,} ranks; possible are 1 to {MAX_RANKS:,}")
    return grid


def extrapolated(recording: Recording, grid: Parallelism) -> tuple[Recording, list[str]]:
    """Return the recording of all ranks of a grid, and sentences that state the assumptions.

    The recorded job has the same `tp` and `pp`, on which the recorded kernels depend; `dp` may
    differ, and groups and messages that span its copies are adapted.

    Raises
    ------
    InputError
        If more than one rank was recorded, the grid does not fit it, or the messages between stages
        of the pipeline cannot be derived from the recorded rank.
    """
    graph = recording.graph
    if len(graph.programs) != 1:
        raise InputError(
            f"{len(graph.programs)} programs were recorded, but --parallelism derives all ranks "
            "from one",
            file=graph.file,
        )
    inner = grid.tp * grid.pp
    if graph.ranks % inner:
        raise InputError(
            f"was recorded on {graph.ranks} ranks, which tp={grid.tp} times pp={grid.pp} does not "
            "divide; both must be those of the recorded job",
            file=graph.file,
        )
    before = Parallelism(grid.tp, graph.ranks // inner, grid.pp)
    groups = {
        name: _moved_group(shape, before, grid, graph.file, name)
        for name, shape in graph.communicators.items()
    }
    _, _, nodes = graph.programs[0]
    offsets = _stages(nodes, before, graph.file)
    if grid.pp > 1 and len({stages > 0 for stages in offsets.values()}) < 2:
        raise InputError(
            f"with pp={grid.pp} the recorded rank must be in a stage that exchanges messages with "
            "the stages before and after it; the first and last stages do not show what others do",
            file=graph.file,
        )
    width = grid.tp * grid.dp
    programs = [
        (
            f"{stage * width}-{(stage + 1) * width - 1}",
            _program(nodes, stage, offsets, grid),
        )
        for stage in range(grid.pp)
    ]
    text = graph_text(grid.ranks, programs, groups, dtype=graph.dtype)
    made = replace(recording, file=graph.file, text=text)
    return made, _assumed(before, grid, groups, offsets)


def _bounds(grid: Parallelism) -> tuple[int, ...]:
    """Return the stride of each dimension, and the number of ranks."""
    return 1, grid.tp, grid.tp * grid.dp, grid.ranks


def _moved_group(
    shape: tuple[int, int], before: Parallelism, after: Parallelism, file: str, name: str
) -> tuple[int, int]:
    """Return size and stride of a group in another grid: it spans the same dimensions."""
    size, stride = shape
    if size * stride <= before.tp or before == after:
        return shape
    old, new = _bounds(before), _bounds(after)
    starts = [i for i in range(3) if old[i] == stride]
    ends = [i for i in range(1, 4) if old[i] == size * stride]
    if not starts or not ends:
        raise InputError(
            f"communicator {name} of {size} ranks, {stride} apart, matches no dimension of "
            f"tp={before.tp},dp={before.dp},pp={before.pp}; it can only be kept with "
            f"dp={before.dp}",
            file=file,
        )
    first = max(starts)
    last = min(end for end in ends if end > first)
    return new[last] // new[first], new[first]


def _stages(nodes: list[Node], before: Parallelism, file: str) -> dict[float, int]:
    """Return, by offset of a message, the number of stages to its other end."""
    width, ranks = before.tp * before.dp, before.ranks
    found: dict[float, int] = {}
    for node in nodes:
        if node.word in ("send", "receive"):
            offset = int(node.numbers[0])
            offset -= ranks if offset > ranks // 2 else -ranks if offset < -(ranks // 2) else 0
            stages, rest = divmod(offset, width)
            if rest or not 0 < abs(stages) < before.pp:
                raise InputError(
                    f"a message to or from rank {offset:+} (relative) leads to no stage of "
                    f"tp={before.tp},dp={before.dp},pp={before.pp}",
                    file=file,
                    line=node.line,
                )
            found[node.numbers[0]] = stages
    return found


def _program(
    nodes: list[Node], stage: int, offsets: Mapping[float, int], grid: Parallelism
) -> list[str]:
    """Return the program of a rank of a stage, without messages to stages that do not exist."""
    lines = []
    for node in nodes:
        numbers = node.numbers
        if node.word in ("send", "receive"):
            stages = offsets[numbers[0]]
            if not 0 <= stage + stages < grid.pp:
                continue
            numbers = (stages * grid.tp * grid.dp, *numbers[1:])
        texts = (str(int(n)) if n == int(n) else repr(n) for n in numbers)
        lines.append(" ".join(part for part in (node.word, node.stream, node.name, *texts) if part))
    return lines


def _assumed(
    before: Parallelism,
    after: Parallelism,
    groups: Mapping[str, tuple[int, int]],
    offsets: Mapping[float, int],
) -> list[str]:
    assumptions = ["all ranks compute the same as the recorded one, for the same time"]
    if after.dp != before.dp:
        assumptions.append(
            f"dp={after.dp} instead of {before.dp}: each rank has the same number of micro-batches "
            "as before, and its collectives the same bytes"
        )
    if offsets:
        assumptions.append(
            "all stages execute in the order of the recorded one; the first and last exchange "
            "nothing beyond the pipeline, and have no embedding or loss that the recorded one lacks"
        )
    counts = Counter(groups.values())
    assumptions += [
        f"{often} communicator{'s' * (often > 1)} of {size} ranks, {step} apart"
        for (size, step), often in counts.items()
    ]
    return assumptions
