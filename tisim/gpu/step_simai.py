"""Layer tables of SimAI and AICB as graphs: a step with its collectives.

Following SimAI (``HYBRID_TRANSFORMER_FWD_IN_BCKWD``): forward, the collective of a layer follows
its computation. Backward, from the last layer on, the collective of the input gradient overlaps the
computation of the weight gradient, and the next operation waits for it; that of the weight gradient
overlaps everything after it.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

from tisim.errors import InputError
from tisim.gpu.step_recording import Recording, check_ranks, graph_text
from tisim.support.reading import head_of, read_text

_KIND = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
_WORDS = {
    "ALLREDUCE": "all_reduce",
    "ALLGATHER": "all_gather",
    "REDUCESCATTER": "reduce_scatter",
    "ALLTOALL": "all_to_all",
    "BROADCAST": "broadcast",
}
# Columns: name, dependency; three times time, collective and bytes; time of the update.
_COLUMNS = 12


def is_simai(path: str | Path) -> bool:
    """Return whether a file begins like SimAI's tables of transformers."""
    return head_of(path).lstrip().startswith(_KIND.encode())


def read_simai(path: str | Path, *, ranks: int | None = None) -> Recording:
    """Read a table. `ranks`: number of GPUs, if the table lacks it (``all_gpus``).

    Raises
    ------
    InputError
        If the file is not such a table, with the line.
    """
    rows = read_text(path, "this table of layers").splitlines()
    table = _Table(str(path), rows, ranks)
    text = table.text()
    return Recording(path, text, 0.0, table.computations, table.collectives, 0, table.omissions)


class _Table:
    def __init__(self, file: str, rows: list[str], ranks: int | None) -> None:
        self.file, self.rows = file, rows
        self.omissions: Counter[str] = Counter()
        self.computations = self.collectives = 0
        head = rows[0].split() if rows else []
        sizes = {
            key.rstrip(":"): self.whole(value, 1)
            for key, value in pairwise(head)
            if key.rstrip(":")
            in ("model_parallel_NPU_group", "ep", "pp", "all_gpus", "checkpoints", "ga")
        }
        tensor = max(1, sizes.get("model_parallel_NPU_group", 1))
        self.stages = max(1, sizes.get("pp", 1))
        self.ranks = ranks or sizes.get("all_gpus", 0) or tensor * self.stages
        check_ranks(self.ranks, file)
        copies, left = divmod(self.ranks, tensor * self.stages)
        if left or not copies:
            raise self.fail(
                f"{self.ranks} GPUs are not a multiple of the {tensor} x {self.stages} that share "
                "a model; give their number with --ranks",
                1,
            )
        experts = max(1, sizes.get("ep", 1))
        if copies % experts:
            raise self.fail(f"{copies} copies are not a multiple of {experts} experts", 1)
        # Ranks of a layer are neighbours, followed by copies, then stages.
        self.groups = {
            "tp": (tensor, 1),
            "dp": (copies, tensor),
            "ep": (experts, tensor),
            "dpep": (copies // experts, tensor * experts),
        }
        if self.stages > 1:
            self.omissions[
                "pipeline: its bubble and messages, which are missing from the table"
            ] += 1
        if sizes.get("checkpoints", 0):
            self.omissions["layers that are recomputed in the backward pass"] += sizes[
                "checkpoints"
            ]

    def fail(self, message: str, line: int) -> InputError:
        return InputError(message, file=self.file, line=line)

    def whole(self, text: str, line: int) -> int:
        if not text.isdecimal() or len(text) > 18:
            raise self.fail(f"{text!r} is not a whole number", line)
        return int(text)

    def text(self) -> str:
        """Return the graph file."""
        count = self.whole(self.rows[1].strip(), 2) if len(self.rows) > 1 else 0
        layers = self.rows[2 : 2 + count]
        if not count or len(layers) < count:
            raise self.fail(f"the table has {len(layers)} of its {count} layers", len(self.rows))
        forward: list[str] = []
        backward: list[list[str]] = []
        for number, row in enumerate(layers, 3):
            words = row.split()
            if len(words) != _COLUMNS:
                raise self.fail(f"a layer has {_COLUMNS} columns, not {len(words)}", number)
            forward += self._compute(words[2], number)
            forward += self._communicate(words[3], words[4], "tp", number, waits=True)
            back = self._compute(words[5], number)
            inputs = self._communicate(words[6], words[7], "tp", number, waits=True)
            back += inputs[:-1]
            back += self._compute(words[8], number)
            back += self._communicate(words[9], words[10], "dp", number, waits=False)
            backward.append(back + inputs[-1:])
        program = forward + [line for back in reversed(backward) for line in back]
        if not program:
            raise self.fail("no layer of the table takes any time", 3)
        return graph_text(self.ranks, [(f"0-{self.ranks - 1}", program)], self.groups)

    def _compute(self, nanoseconds: str, line: int) -> list[str]:
        time = self.whole(nanoseconds, line)
        self.computations += time > 0
        return [f"seconds main {time * 1e-9:.9g}"] if time else []

    def _communicate(
        self, kind: str, nbytes: str, group: str, line: int, *, waits: bool
    ) -> list[str]:
        name, _, suffix = kind.partition("_")
        group = {"": group, "EP": "ep", "DP_EP": "dpep"}.get(suffix, "")
        size = self.whole(nbytes, line)
        if name == "NONE" or not size:
            return []
        if name not in _WORDS or not group:
            raise self.fail(f"no collective {kind!r}", line)
        if self.groups[group][0] < 2:
            return []
        self.collectives += 1
        stream = f"c{group}"
        made = [
            f"record main {stream}b",
            f"wait {stream} {stream}b",
            f"{_WORDS[name]} {stream} {group} {size}",
        ]
        if waits:
            made += [f"record {stream} {stream}e", f"wait main {stream}e"]
        return made
