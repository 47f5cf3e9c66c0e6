"""Computing, communicating and the rest are the whole of each rank's time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tisim
from tests.oracle.cases import Case
from tests.property.simpy_programs import Step, call, steps_of, write_traces
from tisim.kernel import Environment

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
