"""Random MPI programs in C, generated together with the trace that recording them must yield."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.record.random_programs.collectives import BetweenGroups, Collectives
from tests.unit.record.random_programs.messages import REDUCED, TYPES, Group, Messages, Rank, Ranks
from tisim.traces.record.table import read_table

#: Size in bytes of each rank's window: enough for all accesses.
BYTES = 1 << 16


class OneSided(Ranks):
    """Writes windows, each with epochs of one kind, and frees them."""

    def one_sided(self) -> None:
        group = self.choose_group(least=2)  # Open MPI 4.1 creates no windows of a single rank
        made = self.rng.choice(["create", "allocate"])
        memory = {"create": f"in, {BYTES}", "allocate": f"{BYTES}"}[made]
        pointer = {"create": "", "allocate": "&part, "}[made]
        self._all(
            group,
            f"MPI_Win_{made}({memory}, 1, MPI_INFO_NULL, {group.comm}, {pointer}&window);",
            f"win_{made} 0 {BYTES}",
        )
        epoch = self.rng.choice([self._fences, self._posts, self._locks, self._locks_of_all])
        epoch(group)
        self._all(group, "MPI_Win_free(&window);", "win_free 0")

    def _all(self, group: Group, statement: str, line: str) -> None:
        for rank in group.ranks:
            self.write(rank, statement, line + group.suffix)

    def _fences(self, group: Group) -> None:
        self._all(group, "MPI_Win_fence(MPI_MODE_NOPRECEDE, window);", "win_fence 0 noprecede")
        for rank in group.ranks:
            for _ in range(self.rng.randrange(3)):
                self._access(rank, group, self.rng.randrange(len(group.ranks)))
        self._all(group, "MPI_Win_fence(MPI_MODE_NOSUCCEED, window);", "win_fence 0 nosucceed")

    def _posts(self, group: Group) -> None:
        """Let each rank access the next one."""
        size = len(group.ranks)
        for place, rank in enumerate(group.ranks):
            right, left = (place + 1) % size, (place - 1) % size
            for name, other in (("post", left), ("start", right)):
                call = f"{{ MPI_Group g = member({group.comm}, {other}); "
                call += f"MPI_Win_{name}(g, 0, window); MPI_Group_free(&g); }}"
                self.write(rank, call, f"win_{name} 0 {other}{group.suffix}")
            self._access(rank, group, right)
            self.write(rank, "MPI_Win_complete(window);", f"win_complete 0{group.suffix}")
            self.write(rank, "MPI_Win_wait(window);", f"win_wait 0{group.suffix}")

    def _locks(self, group: Group) -> None:
        for rank in group.ranks:
            target = self.rng.randrange(len(group.ranks))
            kind = self.rng.choice(["exclusive", "shared"])
            call = f"MPI_Win_lock(MPI_LOCK_{kind.upper()}, {target}, 0, window);"
            self.write(rank, call, f"win_lock 0 {target} {kind}{group.suffix}")
            self._passive(rank, group, target)
            call = f"MPI_Win_unlock({target}, window);"
            self.write(rank, call, f"win_unlock 0 {target}{group.suffix}")

    def _locks_of_all(self, group: Group) -> None:
        for rank in group.ranks:
            self.write(rank, "MPI_Win_lock_all(0, window);", f"win_lock_all 0{group.suffix}")
            self._passive(rank, group, self.rng.randrange(len(group.ranks)))
            self.write(rank, "MPI_Win_unlock_all(window);", f"win_unlock_all 0{group.suffix}")

    def _passive(self, rank: int, group: Group, target: int) -> None:
        """Write accesses with and without a request, and flushes."""
        me = self.ranks[rank]
        for _ in range(self.rng.randrange(4)):
            what = self.rng.choice(["access", "request", "flush"])
            if what == "access":
                self._access(rank, group, target)
            elif what == "request":
                self._access_with_request(me, group, target)
            else:
                name = self.rng.choice(["flush", "flush_local"])
                call = f"MPI_Win_{name}({target}, window);"
                self.write(rank, call, f"win_{name} 0 {target}{group.suffix}")

    def _access(self, rank: int, group: Group, target: int) -> None:
        name = self.rng.choice(["Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op"])
        kind = self.rng.choice(REDUCED if name not in ("Put", "Get") else list(TYPES))
        count, bytes_ = self.choose_count(kind)
        origin = "fetched" if name == "Get" else "out"
        at_target = f"{target}, 0, {count}, {kind}"
        statement = {
            "Accumulate": f"{origin}, {count}, {kind}, {at_target}, MPI_SUM, window",
            "Get_accumulate": f"out, {count}, {kind}, fetched, {count}, {kind}, {at_target}, "
            "MPI_SUM, window",
            "Fetch_and_op": f"out, fetched, {kind}, {target}, 0, MPI_SUM, window",
        }.get(name, f"{origin}, {count}, {kind}, {at_target}, window")
        if name == "Fetch_and_op":
            bytes_ = TYPES[kind][0]
        line = f"{name.lower()} 0 {target} {bytes_}"
        self.write(rank, f"MPI_{name}({statement});", line + group.suffix)

    def _access_with_request(self, me: Rank, group: Group, target: int) -> None:
        name = self.rng.choice(["Rput", "Rget"])
        kind = self.rng.choice(list(TYPES))
        count, bytes_ = self.choose_count(kind)
        variable, number = me.make_request()
        place = f"&request[{variable}]"
        me.statements.append(
            f"MPI_{name}({'fetched' if name == 'Rget' else 'out'}, {count}, {kind}, {target}, 0, "
            f"{count}, {kind}, window, {place}); MPI_Wait({place}, MPI_STATUS_IGNORE);"
        )
        me.lines += [
            f"{name.lower()} 0 {target} {bytes_}{group.suffix} request={number}",
            f"wait request={number}",
        ]
        me.complete(variable, number)


_PROGRAM = """\
#include <mpi.h>
#include <stdlib.h>

{counts}
static char in[1 << 16], out[1 << 16], fetched[1 << 16], buffered[1 << 22];
static MPI_Comm comm[64];
static MPI_Request request[256];
static MPI_Datatype triple;
static MPI_Win window;
static void *part;
static MPI_Comm halved, between;

static MPI_Comm created(MPI_Comm parent, int count, const int *ranks) {{
  MPI_Group all, some;
  MPI_Comm made;
  MPI_Comm_group(parent, &all);
  MPI_Group_incl(all, count, ranks, &some);
  MPI_Comm_create(parent, some, &made);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  return made;
}}

static MPI_Comm of_group(MPI_Comm parent, int count, const int *ranks) {{
  MPI_Group all, some;
  MPI_Comm made;
  MPI_Comm_group(parent, &all);
  MPI_Group_incl(all, count, ranks, &some);
  MPI_Comm_create_group(parent, some, 0, &made);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  return made;
}}

static MPI_Comm copied(MPI_Comm parent) {{
  MPI_Comm made;
  MPI_Request request;
  MPI_Comm_idup(parent, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return made;
}}

static MPI_Comm cartesian(MPI_Comm parent, int size) {{
  const int periods[] = {{1}};
  MPI_Comm made;
  MPI_Cart_create(parent, 1, &size, periods, 0, &made);
  return made;
}}

static MPI_Group member(MPI_Comm parent, int rank) {{
  MPI_Group all, one;
  MPI_Comm_group(parent, &all);
  MPI_Group_incl(all, 1, &rank, &one);
  MPI_Group_free(&all);
  return one;
}}

static void halve(MPI_Comm parent, int place) {{
  MPI_Comm_split(parent, place % 2, place, &halved);
  MPI_Intercomm_create(halved, 0, parent, 1 - place % 2, 9, &between);
}}

{functions}
int main(int argc, char **argv) {{
  int rank, size;
  void *detached;
  static void (*const run[])(void) = {{{names}}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  MPI_Buffer_attach(buffered, sizeof buffered);
  comm[0] = MPI_COMM_WORLD;
  for (int i = 0; i < 256; ++i) request[i] = MPI_REQUEST_NULL;
  run[rank]();
  MPI_Buffer_detach(&detached, &size);
  MPI_Type_free(&triple);
  MPI_Finalize();
  return 0;
}}
"""

_SMALL_COUNTS = """\
typedef int count_type;
typedef int displacement_type;
"""

_LARGE_COUNTS = """\
#if MPI_VERSION < 4
#error "large counts came with MPI 4.0"
#endif
typedef MPI_Count count_type;
typedef MPI_Aint displacement_type;
"""


def _large_counts() -> str:
    """Return macros that make a program call the large-count variants of all functions."""
    functions = [function.name for function in read_table() if function.has_large_counts]
    renamed = [f"#define {name.removesuffix('_c')} {name}\n" for name in functions]
    return _LARGE_COUNTS + "".join(renamed)


class Author(Messages, Collectives, OneSided, BetweenGroups):
    """Writes a program of `ranks` ranks with `events` events.

    `windows_and_pairs` adds one-sided communication and collectives on intercommunicators.
    """

    def __init__(
        self, seed: int, ranks: int, events: int, *, windows_and_pairs: bool = True
    ) -> None:
        super().__init__(seed, ranks)
        choices: list[Callable[[], None]] = [
            *[self.message] * 6,
            *[self.wait] * 5,
            *[self.collective] * 4,
            *[self.vector_collective] * 2,
            self.exchange,
            self.make_communicator,
            self.make_by_members,
            self.copy_communicator,
            self.free_communicator,
            self.persistent,
            self.cancelled,
            self.null_message,
        ]
        if windows_and_pairs:
            choices += [self.one_sided, self.between_groups]
        for _ in range(events):
            self.rng.choice(choices)()
        for rank in self.ranks:
            while rank.pending:
                self.wait_for(rank)

    def source(self, *, large_counts: bool = False) -> str:
        functions = "".join(
            f"static void run{number}(void) {{\n  "
            + "\n  ".join(rank.statements or ["/* nothing */"])
            + "\n}\n\n"
            for number, rank in enumerate(self.ranks)
        )
        names = ", ".join(f"run{number}" for number in range(len(self.ranks)))
        counts = _large_counts() if large_counts else _SMALL_COUNTS
        return _PROGRAM.format(counts=counts, functions=functions, names=names)

    def expected(self, rank: int) -> list[str]:
        return ["init", *self.ranks[rank].lines, "finalize"]

    # -- Communicators

    def make_communicator(self) -> None:
        """Create one to three communicators from the ranks of an existing one."""
        parent = self.choose_group(least=1)
        place = self._free_place()
        free = set(range(64)).difference(*(self.ranks[r].communicators for r in parent.ranks))
        number = min(free)
        how = self.rng.choice(["split", "dup", "create", "cart"])
        for ranks in self._make(how, parent, place, number):
            self._add(place, number, ranks)

    def _make(self, how: str, parent: Group, place: int, number: int) -> list[list[int]]:
        """Write the call; return the ranks of each new communicator."""
        old, made = parent.comm, f"comm[{place}]"
        size = len(parent.ranks)
        colors = [self.rng.choice([-1, 0, 1, 2]) for _ in parent.ranks]
        keys = [self.rng.randrange(4) for _ in parent.ranks]
        chosen = self.rng.sample(range(size), self.rng.randrange(1, size + 1))
        split = f"comm_split {parent.number} {number}"
        for i, rank in enumerate(parent.ranks):
            color = "MPI_UNDEFINED" if colors[i] < 0 else str(colors[i])
            ranks = f"(const int[]){{{', '.join(map(str, chosen))}}}"
            leader, key = (chosen[0], chosen.index(i)) if i in chosen else (-1, 0)
            call, line = {
                "split": (
                    f"MPI_Comm_split({old}, {color}, {keys[i]}, &{made});",
                    f"{split} {colors[i]} {keys[i]}",
                ),
                "dup": (f"MPI_Comm_dup({old}, &{made});", f"comm_dup {parent.number} {number}"),
                "cart": (f"{made} = cartesian({old}, {size});", f"{split} 0 {i}"),
                "create": (
                    f"{made} = created({old}, {len(chosen)}, {ranks});",
                    f"{split} {leader} {key}",
                ),
            }[how]
            self.ranks[rank].statements.append(call)
            self.ranks[rank].lines.append(line)
        if how == "create":
            return [[parent.ranks[i] for i in chosen]]
        if how != "split":
            return [[*parent.ranks]]
        order = sorted(range(size), key=lambda i: (keys[i], i))
        return [
            [parent.ranks[i] for i in order if colors[i] == color]
            for color in sorted({*colors} - {-1})
        ]

    def _add(self, place: int, number: int, ranks: list[int]) -> None:
        self.groups.append(Group(place, number, tuple(ranks)))
        for rank in ranks:
            self.ranks[rank].communicators.add(number)

    def _free_place(self) -> int:
        return min(set(range(64)) - {group.place for group in self.groups})

    def make_by_members(self) -> None:
        """Create a communicator of some ranks, in a call that only they make."""
        parent = self.choose_group(least=1)
        size = len(parent.ranks)
        chosen = self.rng.sample(range(size), self.rng.randrange(1, size + 1))
        ranks = [parent.ranks[i] for i in chosen]
        place = self._free_place()
        used = set().union(*(self.ranks[rank].communicators for rank in ranks))
        number = min(set(range(64)) - used)
        listed = f"(const int[]){{{', '.join(map(str, chosen))}}}"
        for key, rank in enumerate(ranks):
            me = self.ranks[rank]
            me.statements.append(
                f"comm[{place}] = of_group({parent.comm}, {len(chosen)}, {listed});"
            )
            if len(chosen) == size:
                me.lines.append(f"comm_split {parent.number} {number} {chosen[0]} {key}")
            else:
                me.lines.append(f"comm_group {number} {' '.join(map(str, ranks))}")
        self._add(place, number, ranks)

    def copy_communicator(self) -> None:
        """Create a copy with a non-blocking call, if all ranks would give it the same number."""
        parent = self.choose_group(least=1)
        numbers = {min(set(range(64)) - self.ranks[rank].communicators) for rank in parent.ranks}
        if len(numbers) > 1:
            return
        place, number = self._free_place(), numbers.pop()
        for rank in parent.ranks:
            me = self.ranks[rank]
            request = min(me.free_numbers)
            me.statements.append(f"comm[{place}] = copied({parent.comm});")
            me.lines += [
                f"comm_idup {parent.number} {number}",
                f"ibcast 4 0 6 comm={number} request={request}",
                f"wait request={request}",
            ]
        self._add(place, number, [*parent.ranks])

    def free_communicator(self) -> None:
        if len(self.groups) == 1:
            return
        group = self.groups.pop(self.rng.randrange(1, len(self.groups)))
        for rank in group.ranks:
            # Open MPI needs non-blocking collectives to complete before MPI_Comm_free.
            while self.ranks[rank].pending:
                self.wait_for(self.ranks[rank])
            self.ranks[rank].statements.append(f"MPI_Comm_free(&{group.comm});")
            self.ranks[rank].lines.append(f"comm_free {group.number}")
            self.ranks[rank].communicators.remove(group.number)
