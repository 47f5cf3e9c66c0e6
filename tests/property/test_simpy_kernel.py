"""SimPy compared with the core: programs as processes, and the readable kernel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tisim
from tests.golden.test_cases import CASES, SmallCase
from tests.oracle.cases import Case
from tests.oracle.platforms.families import FAMILIES
from tests.oracle.programs.call_programs import (
    CallAuthor,
    GivingUpAuthor,
    NumberedAuthor,
    draw_calls,
)
from tests.oracle.programs.collective_calls import CollectiveAuthor
from tests.oracle.programs.configs import SELECTORS
from tests.oracle.programs.program import WIDTH_OF_TYPE, Each, Line, Peer
from tests.support import campaign
from tisim.kernel import Environment

PROGRAMS = campaign(500, 2000)
TOGETHER = 20  # programs per test

RELATIVE = 1e-9
ABSOLUTE = 1e-12  # seconds
# Larger programs take the readable kernel seconds.
MOST_LINES = 400


def compare(trace: Path, platform: Path, hosts: list[str], config: dict[str, str]) -> None:
    """Replay with both kernels, and compare all results of the ranks."""

    def outcome(kernel: str) -> tisim.Result | str:
        try:
            return tisim.replay(trace, platform=platform, hosts=hosts, config=config, kernel=kernel)
        except tisim.SimulationError as error:
            return str(error).partition("\n")[0]

    core, simpy = outcome("core"), outcome("simpy")
    if isinstance(core, str) or isinstance(simpy, str):
        assert core == simpy
        return
    for name in ("finish", "compute", "other"):
        expected = pytest.approx(getattr(core, name), rel=RELATIVE, abs=ABSOLUTE)
        assert getattr(simpy, name) == expected, name
    for name in ("rank_actions", "bytes_sent", "messages_sent"):
        assert getattr(simpy, name).tolist() == getattr(core, name).tolist(), name


def drawn(seed: int) -> Case:
    """Draw a random case; half of them have calls beyond SimGrid's traces."""
    selectors = SELECTORS if seed % 2 else ("default",)
    if seed % 4 < 2:
        return Case.draw(seed, selectors=selectors)
    author = CallAuthor if seed % 4 == 2 else GivingUpAuthor
    return draw_calls(seed, families=tuple(FAMILIES), selectors=selectors, author=author)


# Only the compiled core has probes that use part of a core.
SPECIFIED = [case for case in CASES if "smpi/iprobe-cpu-usage" not in case.config]


@pytest.mark.parametrize("case", SPECIFIED, ids=lambda case: case.name)
def test_a_golden_case_ends_as_in_the_core(case: SmallCase, tmp_path: Path) -> None:
    compare(*case.write(tmp_path), case.hosts, case.config)


@pytest.mark.parametrize("first", range(0, PROGRAMS, TOGETHER))
def test_random_programs_end_as_in_the_core(first: int, tmp_path: Path) -> None:
    for seed in range(first, min(first + TOGETHER, PROGRAMS)):
        case = drawn(seed)
        if len(case.program.lines) > MOST_LINES:
            continue
        case.write(tmp_path / str(seed))
        directory = tmp_path / str(seed)
        try:
            compare(directory / "traces", directory / "platform.xml", list(case.hosts), case.config)
        except AssertionError as error:
            raise AssertionError(f"{case.label}: {error}") from None


class KnownWaitsAuthor(NumberedAuthor):
    """The waits of `MpiRank`: for one request, for some, for any of some, and for all."""

    some_waits = ("waitany",)


COLUMNS = ("compute", "other", "bytes_sent", "messages_sent")
Stamps = list[list[float]]


@contextmanager
def stamping(stamps: Stamps) -> Iterator[None]:
    """Give traces the action ``stamp``, which records its date."""
    with tisim.default_registry.restored():

        @tisim.action("stamp")
        def stamp(rank: Any) -> Generator[Any, Any, None]:
            stamps[rank.number].append(rank.env.now)
            return
            yield

        yield


def as_processes(case: Case, platform: tisim.Platform, stamps: Stamps) -> dict[str, Any]:
    """Run the program as SimPy processes."""
    env = Environment(platform, case.config)
    steps = steps_of(case)
    ends = [0.0] * len(steps)

    def write_down(rank: Any) -> None:
        stamps[rank.number].append(env.now)

    def run(rank: Any) -> Generator[Any, Any, None]:
        yield from process(rank, steps[rank.number], write_down)
        ends[rank.number] = env.now

    for rank in env.mpi(case.hosts):
        env.process(run(rank))
    env.run()
    results = env.driver.core.rank_results(0)
    return {"finish": ends} | {name: results[name].tolist() for name in COLUMNS}


def as_trace(traces: Path, case: Case, platform: tisim.Platform) -> dict[str, Any]:
    result = tisim.replay(traces, platform=platform, hosts=case.hosts, config=case.config)
    return {
        "finish": result.finish.tolist(),
        "compute": result.compute.tolist(),
        "other": result.other.tolist(),
        "bytes_sent": result.bytes_sent.tolist(),
        "messages_sent": result.messages_sent.tolist(),
    }


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), numbered=st.booleans())
@example(seed=376, numbered=False)  # the first custom action occurs while flows start
@example(seed=581, numbered=False)
@example(seed=712, numbered=False)
@example(seed=1033, numbered=False)
@example(seed=1172, numbered=False)
@example(seed=21634, numbered=True)
def test_all_time_stamps_are_identical(
    seed: int, numbered: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    case = Case.draw(seed, author=KnownWaitsAuthor if numbered else CollectiveAuthor)
    directory = tmp_path_factory.mktemp("case")
    (directory / "platform.xml").write_text(case.platform)
    platform = tisim.Platform.load(directory / "platform.xml")
    steps = steps_of(case)
    in_trace: Stamps = [[] for _ in steps]
    in_processes: Stamps = [[] for _ in steps]

    plain = as_trace(write_traces(steps, directory / "plain"), case, platform)
    with stamping(in_trace):
        traces = write_traces(steps, directory / "stamped", stamped=True)
        stamped = as_trace(traces, case, platform)
    driven = as_processes(case, platform, in_processes)

    assert [len(own) for own in in_trace] == [len(own) for own in steps]
    assert in_trace == in_processes
    assert stamped == plain
    assert driven == plain


BYTE = 6
LARGE_BUFFER = 1 << 40

Process = Generator[Any, Any, None]


@dataclass(frozen=True)
class Step:
    """One action of a rank: a name and numbers; sizes are in bytes.

    Attributes
    ----------
    name
        The action's word in a trace.
    numbers
        Its arguments, in the order of the trace, without types.
    flops
        Computation of a reduction.
    request
        Number of the request that it creates or waits for; -1: none.
    requests
        Numbers of the requests that it waits for.
    """

    name: str
    numbers: tuple[float, ...]
    flops: float = 0.0
    request: int = -1
    requests: tuple[int, ...] = ()


def steps_of(case: Case) -> list[list[Step]]:
    """Return the steps of each rank, without tests, which `MpiRank` lacks."""
    double = case.init != "init"
    lines = case.program.lines
    steps: list[list[Step]] = [[] for _ in range(case.program.ranks)]
    for line in lines:
        if line.words[0] != "test":
            together = [other for other in lines if other.event == line.event]
            reader = _Reader(line, together, len(steps), 0 if double else BYTE)
            steps[line.rank].append(reader.step())
    return steps


class _Reader:
    """Parses the words of a line."""

    def __init__(self, line: Line, together: list[Line], ranks: int, default: int) -> None:
        self._name = str(line.words[0])
        self._words = list(line.words[1:])
        self._together = together
        self._ranks = ranks
        self._default = default

    def step(self) -> Step:
        name = self._name.lower()
        number = -1
        if self._words and str(self._words[-1]).startswith("request="):
            number = int(str(self._words.pop()).partition("=")[2])
        if self._words and str(self._words[-1]).startswith("requests="):
            listed = str(self._words.pop()).partition("=")[2].split(",")
            return Step(self._name, (), requests=tuple(int(one) for one in listed))
        if name in ("compute", "sleep", "wait", "waitall", "barrier"):
            numbers = tuple(self._number(word) for word in self._words)
            return Step(self._name, numbers, request=number)
        if name in ("send", "isend", "recv", "irecv"):
            peer, tag, count = (self._number(word) for word in self._words[:3])
            size = count * self._width(3) if count >= 0 else LARGE_BUFFER
            return Step(self._name, (peer, tag, size), request=number)
        if name == "sendrecv":
            out, dst, back, src = (self._number(word) for word in self._words[:4])
            return Step(self._name, (out * self._width(4), dst, back * self._width(5), src))
        return self._collective()

    def _collective(self) -> Step:
        words, name = self._words, self._name
        if name in ("bcast", "reduce"):
            flops = self._number(words.pop(1)) if name == "reduce" else 0.0
            return Step(name, (self._bytes(0, 2), self._root(1)), flops)
        if name in ("allreduce", "scan", "exscan"):
            flops = self._number(words.pop(1))
            return Step(name, (self._bytes(0, 1),), flops)
        if name in ("gather", "scatter"):
            sent = self._bytes(0, 3) if name == "gather" else self._bytes(1, 4)
            return Step(name, (sent, self._root(2)))
        if name in ("alltoall", "allgather"):
            return Step(name, (self._bytes(0, 2),))
        if name == "reducescatter":
            flops = self._number(words[1])
            return Step(name, self._each(words[0], self._width(2)), flops)
        if name == "alltoallv":
            width = self._width(4)
            return Step(name, (*self._each(words[1], width), *self._each(words[3], width)))
        # gatherv, scatterv, allgatherv: only the root may know the counts.
        where = 0 if name == "scatterv" else 1
        known = [line.words[1 + where] for line in self._together if line.words[0] == name]
        counts = max(known, key=lambda each: sum(each.values) if isinstance(each, Each) else 0)
        rooted = name != "allgatherv"
        width = self._width(3 if rooted else 2)
        root = (self._root(2),) if rooted else ()
        return Step(name, (*self._each(counts, width), *root))

    def _number(self, word: object) -> float:
        return float(word.rank if isinstance(word, Peer) else word)  # type: ignore[arg-type]

    def _bytes(self, count: int, kind: int) -> float:
        return self._number(self._words[count]) * self._width(kind)

    def _root(self, at: int) -> float:
        return self._number(self._words[at]) if at < len(self._words) else 0.0

    def _width(self, at: int) -> int:
        kind = int(self._number(self._words[at])) if at < len(self._words) else self._default
        return WIDTH_OF_TYPE[kind]

    def _each(self, word: object, width: int) -> tuple[float, ...]:
        assert isinstance(word, Each)
        return tuple(float(value * width) for value in word.values)


def text_of(step: Step, rank: int) -> str:
    """The line of a trace."""
    name, numbers = step.name, [f"{number:.17g}" for number in step.numbers]
    size = len(step.numbers)
    if name in ("bcast", "reduce"):
        words = [numbers[0], *_flops(step), numbers[1], str(BYTE)]
    elif name in ("allreduce", "scan", "exscan"):
        words = [numbers[0], *_flops(step), str(BYTE)]
    elif name in ("gather", "scatter"):
        words = [numbers[0], numbers[0], numbers[1], f"{BYTE} {BYTE}"]
    elif name in ("alltoall", "allgather"):
        words = [numbers[0], numbers[0], f"{BYTE} {BYTE}"]
    elif name == "reducescatter":
        words = [*numbers, *_flops(step), str(BYTE)]
    elif name == "alltoallv":
        half = size // 2
        words = ["0", *numbers[:half], "0", *numbers[half:], f"{BYTE} {BYTE}"]
    elif name == "gatherv" or name == "allgatherv":
        words = [numbers[rank], *numbers, f"{BYTE} {BYTE}"]
    elif name == "scatterv":
        words = [*numbers[:-1], numbers[rank], numbers[-1], f"{BYTE} {BYTE}"]
    elif name in ("send", "isend", "recv", "irecv"):
        words = [*numbers, str(BYTE)]
    elif name == "sendRecv":
        words = [*numbers, f"{BYTE} {BYTE}"]
    else:
        words = numbers
    named = [f"request={step.request}"] if step.request >= 0 else []
    if step.requests:
        named = [f"requests={','.join(str(number) for number in step.requests)}"]
    return " ".join([str(rank), name, *words, *named])


def _flops(step: Step) -> Iterator[str]:
    if step.name in ("reduce", "allreduce", "scan", "exscan", "reducescatter"):
        yield repr(step.flops)


def write_traces(steps: list[list[Step]], directory: Path, *, stamped: bool = False) -> Path:
    """Write a trace; `stamped`: with the action ``stamp`` after every line."""
    directory.mkdir()
    for rank, own in enumerate(steps):
        stamp = [f"{rank} stamp"] if stamped else []
        lines = [line for step in own for line in (text_of(step, rank), *stamp)]
        text = "\n".join([f"{rank} init", *lines, f"{rank} finalize"])
        (directory / f"rank-{rank}.txt").write_text(text + "\n")
    return directory


def process(rank: Any, steps: list[Step], stamp: Callable[[Any], None]) -> Process:
    """The same as a SimPy process, which calls `stamp` after every step."""
    requests: dict[tuple[float, ...], list[int]] = {}
    me = float(rank.number)
    for step in steps:
        event = call(rank, step, requests)
        request = None if event is None else (yield event)
        if step.flops:
            yield rank.execute(step.flops)
        if step.name in ("isend", "irecv") and step.request >= 0:
            requests[step.request,] = [request]
        elif step.name == "isend":
            peer, tag, _ = step.numbers
            requests.setdefault((me, peer, tag), []).append(request)
        elif step.name == "irecv":
            peer, tag, _ = step.numbers
            requests.setdefault((peer, me, tag), []).append(request)
        elif step.name == "waitany":
            for number in step.requests:
                if requests.get((number,)) == [request]:
                    del requests[number,]
        elif step.requests:
            for number in step.requests:
                requests.pop((number,), None)
        elif step.name == "waitall":
            requests.clear()
        stamp(rank)
    yield rank.waitall()


def call(rank: Any, step: Step, requests: dict[tuple[float, ...], list[int]]) -> Any:
    """The event of one step; none where an earlier `waitany` has completed what it names."""
    name, numbers = step.name, step.numbers
    if step.requests:
        pending = [requests[number,][0] for number in step.requests if (number,) in requests]
        return getattr(rank, name)(pending) if pending else None
    if name == "compute":
        return rank.execute(*numbers)
    if name in ("send", "isend", "recv", "irecv"):
        peer, tag, size = numbers
        return getattr(rank, name)(int(peer), size, int(tag))
    if name == "sendRecv":
        out, dst, back, src = numbers
        return rank.sendrecv(int(dst), out, int(src), back)
    if name == "wait":
        if step.request >= 0:
            found = requests.pop((step.request,), None)
            return None if found is None else rank.wait(found[0])
        return rank.wait(requests[numbers].pop(0))
    if name in ("gatherv", "scatterv"):
        return getattr(rank, name)(numbers[:-1], int(numbers[-1]))
    if name in ("allgatherv", "reducescatter"):
        return getattr(rank, {"reducescatter": "reduce_scatter"}.get(name, name))(numbers)
    if name == "alltoallv":
        half = len(numbers) // 2
        return rank.alltoallv(numbers[:half], numbers[half:])
    if name in ("bcast", "reduce", "gather", "scatter"):
        return getattr(rank, name)(numbers[0], int(numbers[1]))
    return getattr(rank, name)(*numbers)


COMPUTING, OTHER, MPI = "compute", "other", "communication"


def watched(rank: Any, steps: list[Step], spent: dict[str, float]) -> Generator[Any, Any, None]:
    """Make a program's calls and add up the time that each kind of them takes."""
    requests: dict[tuple[float, ...], list[int]] = defaultdict(list)
    for step in steps:
        begin = rank.env.now
        request = yield call(rank, step, requests)
        kind = {"compute": COMPUTING, "sleep": OTHER}.get(step.name, MPI)
        spent[kind] += rank.env.now - begin
        if step.flops:
            begin = rank.env.now
            yield rank.execute(step.flops)
            spent[COMPUTING] += rank.env.now - begin
        if step.name in ("isend", "irecv"):
            peer, tag, _ = step.numbers
            ends = (rank.number, peer) if step.name == "isend" else (peer, rank.number)
            requests[(*ends, tag)].append(request)
        elif step.name == "waitall":
            requests.clear()
    begin = rank.env.now
    yield rank.waitall()
    spent[MPI] += rank.env.now - begin


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6))
def test_shares(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    case = Case.draw(seed)
    directory = tmp_path_factory.mktemp("case")
    (directory / "platform.xml").write_text(case.platform)
    platform = tisim.Platform.load(directory / "platform.xml")
    steps = steps_of(case)
    traces = write_traces(steps, directory / "traces")
    result = tisim.replay(traces, platform=platform, hosts=case.hosts, config=case.config)

    env = Environment(platform, case.config)
    spent: list[dict[str, float]] = [defaultdict(float) for _ in steps]
    for rank in env.mpi(case.hosts):
        env.process(watched(rank, steps[rank.number], spent[rank.number]))
    env.run()

    whole = result.simulated_time
    for rank, own in enumerate(spent):
        for kind in (COMPUTING, OTHER, MPI):
            measured = float(getattr(result, kind)[rank])
            assert measured == pytest.approx(own[kind], rel=1e-9, abs=1e-12 * whole)
            assert measured >= -1e-12 * whole
        together = result.compute[rank] + result.communication[rank] + result.other[rank]
        assert together == pytest.approx(result.finish[rank], rel=1e-14)
