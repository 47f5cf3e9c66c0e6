"""The calls are those of the trace: recording an execution reproduces the trace."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support import campaign
from tests.unit.execute.scripts import calls_of, without_idup_messages
from tests.unit.record.programs import Mpi, Recorder
from tests.unit.record.random_programs.program import Author
from tisim.studies.execute import execute
from tisim.studies.execute.execution import print_source
from tisim.traces import Kind, Trace, check

PROGRAMS = campaign(2, 20)
# Everything that a trace can contain and recorders do not replace, on four ranks.
EVERYTHING = """\
init
comm_split 0 1 COLOUR RANK
comm_dup 0 2
comm_idup 0 3
comm_group 4 0 1 2 3
barrier comm=4
barrier comm=3
compute 1e6
sleep 1e-4
isend RIGHT 1 1000
irecv LEFT 1 1000
wait RANK RIGHT 1
wait LEFT RANK 1
issend RIGHT 2 100000 1 request=3
irecv -555 -444 100000 1 request=0
waitall requests=3,0
ibsend RIGHT 3 100
irecv LEFT 3 100
waitany 2
waitsome 1
waitall
sendrecv 5000 RIGHT 5000 LEFT
bsend RIGHT 4 500
recv LEFT 4 -1
irecv LEFT 5 80 request=1
isend RIGHT 5 80 request=2
test request=1
testany requests=1,2
testall requests=1,2
testsome requests=1,2
waitall requests=1,2
irecv LEFT 5 80 request=1
isend RIGHT 5 80 request=2
irecv LEFT 5 80 request=7
isend RIGHT 5 80 request=8
waitany requests=1,2,7,8 completed=2
waitsome requests=8,1,7 completed=1,7
wait request=8
isend RIGHT 6 80
probe LEFT 6
iprobe LEFT 6
recv LEFT 6 80
waitall
send_init RIGHT 7 10 request=4
recv_init LEFT 7 10 request=5
ssend_init RIGHT 8 10
recv_init LEFT 8 10
start request=4
start request=5
waitall requests=4,5
startall
waitall
bsend_init RIGHT 9 10
start RANK RIGHT 9
recv LEFT 9 10
waitall
isend -666 1 10
waitall
irecv LEFT 10 80 request=7
cancel request=7
wait request=7
isend RIGHT 11 80 request=7
request_free request=7
irecv LEFT 11 80 request=7
request_free request=7
recv_init LEFT 12 80 request=7
start request=7
cancel request=7
request_free request=7
send_init RIGHT 12 80
request_free RANK RIGHT 12
barrier
bcast 100 1
bcast 1000 0 1 comm=1
reduce 64 0 2
allreduce 9 1000 0
scan 3 0
exscan 3 0
reducescatter 8 16 24 0 0
alltoall 10 10
alltoallv 100 1 2 3 4 100 FROM
gather 10 10 3
gatherv RANKS 0 1 2 3 1
scatter 10 10
scatterv 4 3 2 1 DOWN 1
allgather 5 5 0 0
allgatherv RANKS 0 1 2 3
neighbor_alltoall 3 LEFT -666 RIGHT 3 RIGHT LEFT -666 10 10
neighbor_alltoallv 3 LEFT -666 RIGHT 3 RIGHT LEFT -666 1 2 3 1 3 2
neighbor_allgather 2 LEFT LEFT 2 RIGHT RIGHT 9 9 0 0 comm=4
neighbor_allgatherv 2 LEFT LEFT 2 RIGHT RIGHT 9 9 9 comm=4
ineighbor_alltoall 3 LEFT -666 RIGHT 3 RIGHT LEFT -666 10 10 request=6
ineighbor_alltoallv 3 LEFT -666 RIGHT 3 RIGHT LEFT -666 1 2 3 1 3 2
ineighbor_allgather 2 LEFT LEFT 2 RIGHT RIGHT 9 9 0 0 comm=4
ineighbor_allgatherv 2 LEFT LEFT 2 RIGHT RIGHT 9 9 9 comm=4
wait request=6
waitall
ibarrier
ibcast 100 1
wait -333 -333 -3335
iallreduce 10 0 request=6
ireduce 10 0
iscan 8 0
iexscan 8 0
ireducescatter 1 1 1 1 0
ialltoall 10 10
ialltoallv 100 1 2 3 4 100 FROM
igather 10 10
igatherv RANKS 0 1 2 3
iscatter 10 10
iscatterv 4 3 2 1 DOWN
iallgather 5 5
iallgatherv RANKS 0 1 2 3
wait request=6
waitall
isend 0 1 50 comm=1
irecv -555 1 50 comm=1
waitall
comm_free 1
win_create 0 4096
win_fence 0 noprecede
put 0 RIGHT 64 6
get 0 LEFT 8 6
accumulate 0 RIGHT 8 0
win_fence 0 nosucceed
win_lock 0 RIGHT exclusive
fetch_and_op 0 RIGHT 1 0
compare_and_swap 0 RIGHT 1 0
win_unlock 0 RIGHT
win_lock_all 0
rput 0 RIGHT 64 6 request=3
wait request=3
win_flush_all 0
win_unlock_all 0
win_post 0 LEFT
win_start 0 RIGHT
put 0 RIGHT 8 6
win_complete 0
win_wait 0
win_free 0
finalize
"""


def write_everything(directory: Path) -> Path:
    """Write the programs of all ranks to one file; rank 0 of communicator 1 receives from both."""
    lines = []
    for rank in range(4):
        words = {
            "RANK": rank,
            "RANKS": rank,
            "RIGHT": (rank + 1) % 4,
            "LEFT": (rank - 1) % 4,
            "COLOUR": rank % 2,
            "DOWN": 4 - rank,
            "FROM": " ".join([str(rank + 1)] * 4),
        }
        for line in EVERYTHING.splitlines():
            text = " ".join(str(words.get(word, word)) for word in line.split(" "))
            if "50 comm=1" in text and rank > 1 and text.startswith("irecv"):
                continue
            if rank <= 1 and text.startswith("irecv -555 1 50"):
                lines.append(f"{rank} {text}")  # one from each member
            lines.append(f"{rank} {text}")
    path = directory / "everything.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_everything_is_executed(mpi: Mpi, tmp_path: Path) -> None:
    trace = Trace.open(write_everything(tmp_path))
    assert check(trace).errors == 0, str(check(trace))
    # Ordinary sends and waits of the legacy dialect are tested elsewhere.
    named = {call.name for calls in calls_of(trace, tmp_path / "scripts") for call in calls}
    others = {"collective", "icollective", "end", "nop", "custom", "compute"}
    others |= {"send", "ssend", "wait_last", "test_last", "recv_half", "threads"}
    others |= {"file", "file_offset"}  # test_files.py executes them
    others |= {"launch"}  # refused: an execution has no GPUs
    assert {kind.name.lower() for kind in Kind} - others - named == set()
    done = execute(trace, [mpi.run], repeat=2, compute="sleep", compiler=mpi.cc, time_limit=120)
    assert len(done.repetitions) == 2
    assert all(time >= 0.0011 for time in done.times)  # computations and sleeps of each rank


def test_requests_that_are_all_persistent(one_mpi: Mpi, tmp_path: Path) -> None:
    """Their first start creates the table of pending requests, and later ones enlarge it."""
    lines = []
    for rank, peer in ((0, 1), (1, 0)):
        lines += [f"{rank} init"]
        for tag in range(800):
            lines += [f"{rank} recv_init {peer} {tag} 8", f"{rank} send_init {peer} {tag} 8"]
        for tag in range(800):
            lines += [f"{rank} start {peer} {rank} {tag}", f"{rank} start {rank} {peer} {tag}"]
        lines += [f"{rank} waitall", f"{rank} finalize"]
    (tmp_path / "trace.txt").write_text("\n".join(lines) + "\n")
    trace = Trace.open(tmp_path / "trace.txt")
    done = execute(trace, [one_mpi.run], repeat=1, compiler=one_mpi.cc, time_limit=120)
    assert len(done.repetitions) == 1


def test_recording_an_execution(one_mpi: Mpi, tmp_path: Path) -> None:
    program = tmp_path / "tisim_execute"
    print_source(tmp_path, None)
    sources = sorted(tmp_path.glob("*.c"))
    subprocess.run(
        [one_mpi.cc, "-std=c11", "-D_GNU_SOURCE", "-w", *sources, "-o", program], check=True
    )
    for seed in range(PROGRAMS):
        ranks, room = 2 + seed % 4, tmp_path / str(seed)
        author = Author(seed, ranks, events=60, windows_and_pairs=False)
        lines = [f"{rank} {line}\n" for rank in range(ranks) for line in author.expected(rank)]
        room.mkdir()
        (room / "trace.txt").write_text("".join(lines))
        trace = Trace.open(room / "trace.txt")
        print_source(room, trace)
        arguments = (str(room / "scripts"), "repeat=1", "warm_up=0", "compute=none")
        recorded = Recorder(one_mpi, room).record(program, *arguments, ranks=ranks)
        assert "repetition 0" in recorded.run.stdout
        # A comm_idup is recorded with its messages, which the trace contains already.
        found = calls_of(Trace.open(recorded.file), room / "found", without_idup_messages)
        wanted = calls_of(trace, room / "wanted")
        for rank in range(ranks):
            assert found[rank] == wanted[rank], (seed, rank)
