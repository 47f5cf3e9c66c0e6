"""The collectives of a random MPI program."""

from __future__ import annotations

from tests.unit.record.random_programs.ranks import REDUCED, TYPES, Ranks, in_trace


class Collectives(Ranks):
    """Writes collectives, blocking and not."""

    blocking = True  # the collective that is being written

    def collective(self) -> None:
        group = self.choose_group(least=1)
        self.blocking = self.rng.random() < 0.5
        name = self.rng.choice(
            [
                *("Barrier", "Bcast", "Reduce", "Allreduce", "Scan", "Exscan"),
                *("Reduce_scatter_block", "Allgather", "Alltoall", "Gather", "Scatter"),
            ]
        )
        reduces = name in ("Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter_block")
        kind = self.rng.choice(REDUCED if reduces else list(TYPES))
        count, _ = self.choose_count(kind)
        unit, identity = in_trace(kind)
        total = count * unit
        root = self.rng.randrange(len(group.ranks))
        in_place = self.rng.random() < 0.3
        comm = group.comm
        for place, rank in enumerate(group.ranks):
            out = "MPI_IN_PLACE" if in_place else "out"
            at_root = "MPI_IN_PLACE" if in_place and place == root else "out"
            to_root = "MPI_IN_PLACE" if in_place and place == root else "in"
            calls = {
                "Barrier": (comm, "barrier"),
                "Bcast": (
                    f"in, {count}, {kind}, {root}, {comm}",
                    f"bcast {total} {root} {identity}",
                ),
                "Reduce": (
                    f"{at_root}, in, {count}, {kind}, MPI_SUM, {root}, {comm}",
                    f"reduce {total} 0 {root} {identity}",
                ),
                "Reduce_scatter_block": (
                    f"{out}, in, {count}, {kind}, MPI_SUM, {comm}",
                    f"reducescatter {' '.join([str(total)] * len(group.ranks))} 0 {identity}",
                ),
                "Gather": (
                    f"{at_root}, {count}, {kind}, in, {count}, {kind}, {root}, {comm}",
                    f"gather {total} {total} {root} {identity} {identity}",
                ),
                "Scatter": (
                    f"out, {count}, {kind}, {to_root}, {count}, {kind}, {root}, {comm}",
                    f"scatter {total} {total} {root} {identity} {identity}",
                ),
            }
            if name in calls:
                arguments, line = calls[name]
            elif name in ("Allgather", "Alltoall"):
                arguments = f"{out}, {count}, {kind}, in, {count}, {kind}, {comm}"
                line = f"{name.lower()} {total} {total} {identity} {identity}"
            else:
                arguments = f"{out}, in, {count}, {kind}, MPI_MAX, {comm}"
                line = f"{name.lower()} {total} 0 {identity}"
            self._collective(rank, name, arguments, line + group.suffix)

    def vector_collective(self) -> None:
        group = self.choose_group(least=1)
        self.blocking = self.rng.random() < 0.5
        name = self.rng.choice(["Allgatherv", "Gatherv", "Scatterv", "Alltoallv", "Alltoallw"])
        kind = self.rng.choice(list(TYPES))
        unit, identity = in_trace(kind)
        size = TYPES[kind][0]
        n = len(group.ranks)
        root = self.rng.randrange(n)
        comm = group.comm
        # Counts from each rank to each other one; collectives but alltoall use the first row.
        table = [[self.rng.randrange(20) for _ in group.ranks] for _ in group.ranks]
        zeros = ["0"] * n

        def array(values: list[int], kind: str = "count_type") -> str:
            return f"(const {kind}[]){{{', '.join(map(str, values))}}}"

        def text(values: list[int], factor: int) -> str:
            return " ".join(str(value * factor) for value in values)

        none = array([0] * n, "displacement_type")
        for place, rank in enumerate(group.ranks):
            mine = table[0][place]
            row, column = table[place], [table[other][place] for other in range(n)]
            if name in ("Gatherv", "Allgatherv"):
                received = (
                    text(table[0], unit)
                    if name == "Allgatherv" or place == root
                    else " ".join(zeros)
                )
                to = f"{root}, {comm}" if name == "Gatherv" else comm
                arguments = f"out, {mine}, {kind}, in, {array(table[0])}, {none}, {kind}, {to}"
                where = f" {root}" if name == "Gatherv" else ""
                line = f"{name.lower()} {mine * unit} {received}{where} {identity} {identity}"
            elif name == "Scatterv":
                sent = text(table[0], unit) if place == root else " ".join(zeros)
                arguments = (
                    f"out, {array(table[0])}, {none}, {kind}, in, {mine}, {kind}, {root}, {comm}"
                )
                line = f"scatterv {sent} {mine * unit} {root} {identity} {identity}"
            else:
                factor, shown = (unit, identity) if name == "Alltoallv" else (size, 6)
                types = kind
                if name == "Alltoallw":
                    # Open MPI 4.1 looks at a type for each neighbour of a Cartesian communicator.
                    types = f"(const MPI_Datatype[]){{{', '.join([kind] * max(n, 2))}}}"
                arguments = (
                    f"out, {array(row)}, {none}, {types}, in, {array(column)}, {none}, {types}, "
                    f"{comm}"
                )
                line = (
                    f"alltoallv {sum(row) * factor} {text(row, factor)} {sum(column) * factor} "
                    f"{text(column, factor)} {shown} {shown}"
                )
            self._collective(rank, name, arguments, line + group.suffix)

    def _collective(self, rank: int, name: str, arguments: str, line: str) -> None:
        if self.blocking:
            self.post(self.ranks[rank], name, arguments, line)
        else:
            self.post(self.ranks[rank], f"I{name[0].lower()}{name[1:]}", arguments, f"i{line}")
