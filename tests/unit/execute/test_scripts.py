"""Scripts are equivalent to their traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.test_cases import CASES, SmallCase
from tests.support import LU, NPB, ROOT, campaign
from tests.unit.execute.scripts import scripts_of
from tests.unit.record.programs import Mpi
from tisim.errors import InputError
from tisim.studies.execute import execute
from tisim.traces import Kind, Trace, pack

# Two ranks, each alone in communicator 1.
SPLIT = "1 comm_split 0 1 1 0\n0 comm_split 0 1 0 0\n"


def open_text(directory: Path, text: str) -> Trace:
    path = directory / "trace.txt"
    path.write_text(text)
    return Trace.open(path)


def test_lines_and_what_stands_in_them(tmp_path: Path) -> None:
    trace = open_text(
        tmp_path,
        "0 init\n0 compute 3e6\n0 isend 0 7 12 0 request=5\n# nothing\n0 irecv -555 -444 96\n"
        "0 wait request=5\n0 waitall\n0 compute 3e6\n0 sleep 0.25\n0 reduce 2 40 0 1\n"
        "0 ireducescatter 3 50 0 request=9\n0 waitall requests=9\n0 comm_split 0 3 1 2\n"
        "0 sendrecv 1 0 2 -333 comm=3\n0 comm_free 3\n0 finalize\n",
    )
    (found,) = scripts_of(trace, tmp_path / "scripts")
    assert [(script.line, script.name) for script in found] == [
        *((2, "compute"), (3, "isend"), (3, "number_request"), (5, "irecv"), (6, "wait")),
        *((7, "waitall"), (8, "compute"), (9, "sleep"), (10, "reduce"), (10, "compute")),
        *((11, "ireducescatter"), (11, "number_request"), (11, "compute"), (12, "waitall")),
        *((13, "comm_split"), (14, "sendrecv"), (14, "sendrecv"), (15, "comm_free")),
    ]
    isend, number, irecv, wait = found[1:5]
    assert (isend.peer, isend.tag, isend.bytes) == (0, 7, 96)
    assert (number.bytes, wait.bytes) == (5, 5)
    assert (irecv.peer, irecv.tag) == (-555, -444)
    assert (found[0].amount, found[7].amount, found[9].amount, found[12].amount) == (
        *(3e6, 0.25, 40),
        50,
    )
    assert found[8].numbers == (1, 0, 2, 0, 4, 4)
    assert found[10].numbers == (1, 0, 0, 0, 8, 8, 3)
    assert found[13].numbers == (9,)
    assert found[14].numbers == (0, 3, 1, 2)
    assert [script.comm for script in found[15:]] == [3, 3, 3]


def test_a_script_says_what_its_trace_says(tmp_path: Path) -> None:
    trace = Trace.open(LU)
    for rank, script in enumerate(scripts_of(trace, tmp_path / "scripts")):
        rows = [row for rows in trace.operations(rank) for row in rows if row["kind"] != Kind.NOP]
        empty = [row["kind"] == Kind.COMPUTE and row["amount"] == 0 for row in rows]
        kinds = [
            int(row["kind"]) for row, is_empty in zip(rows, empty, strict=True) if not is_empty
        ]
        assert [instruction.kind for instruction in script] == kinds
        volume = sum(float(row["amount"]) for row in rows if row["kind"] == Kind.COMPUTE)
        assert (
            sum(instruction.amount for instruction in script if instruction.kind == Kind.COMPUTE)
            == volume
        )


def test_packed_traces_give_the_same_scripts(tmp_path: Path) -> None:
    source = NPB / "is.S.16"
    pack(source, tmp_path / "is.tit")
    text = scripts_of(Trace.open(source), tmp_path / "text")
    assert scripts_of(Trace.open(tmp_path / "is.tit"), tmp_path / "packed") == text


def test_more_instructions_than_are_kept(tmp_path: Path) -> None:
    lines = [f"0 isend -666 {number} 8\n0 compute {number + 0.5}\n" for number in range(70_000)]
    (found,) = scripts_of(open_text(tmp_path, "".join(lines * 2)), tmp_path / "scripts")
    assert [one.tag for one in found[::2]] == [*range(70_000)] * 2
    assert [one.amount for one in found[1::2]] == [number + 0.5 for number in range(70_000)] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{SPLIT}0 bcast 4 1 comm=1\n", r"trace\.txt:3: bcast: root 1 is not a rank"),
        (f"{SPLIT}0 gatherv 1 2 0 0 0 0 comm=1\n", r"trace\.txt:3: gatherv needs scount"),
        ("0 send 0 1 8 comm=4\n", r"trace\.txt:1: uses the communicator 4"),
    ],
)
def test_what_cannot_be_executed(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        scripts_of(open_text(tmp_path, text), tmp_path / "scripts")


# MPICH's ranks spin: with few cores, many ranks take minutes.

FEW_RANKS = ["lu.S.4", "dt.S.BH"]
MANY_RANKS = ["cg.S.16", "is.S.16", "ep.S.16", "ft.S.16", "mg.S.16"]


def run_to_the_end(source: object, mpi: Mpi) -> None:
    trace = Trace.open(str(source))
    done = execute(
        trace, [mpi.run], repeat=1, warm_up=0, compute="none", compiler=mpi.cc, time_limit=500
    )
    assert [len(repetition.ends) for repetition in done.repetitions] == [trace.ranks]
    assert all(end > 0 for end in done.repetitions[0].ends)
    assert done.clock_error == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_small_cases(case: SmallCase, one_mpi: Mpi, tmp_path: Path) -> None:
    trace, _ = case.write(tmp_path)
    run_to_the_end(trace, one_mpi)


@pytest.mark.parametrize("name", FEW_RANKS)
def test_few_ranks(name: str, one_mpi: Mpi) -> None:
    run_to_the_end(NPB / name, one_mpi)


@pytest.mark.parametrize("name", MANY_RANKS[: campaign(2, 5)])
def test_many_ranks(name: str, one_mpi: Mpi) -> None:
    run_to_the_end(NPB / name, one_mpi)


@pytest.mark.skipif(not campaign(0, 1), reason="takes minutes; `make nightly` runs it")
@pytest.mark.parametrize("name", ["lu.A.8", "is.A.32", "cg.A.64", "mg.A.64"])
def test_class_a(name: str, one_mpi: Mpi) -> None:
    if one_mpi.name == "MPICH" and name != "lu.A.8":
        pytest.skip("more than 16 spinning ranks")
    run_to_the_end(ROOT / "traces" / f"{name}.tar.xz", one_mpi)
