"""Sweeps: content of rows, sharing of work, failures, and numbers of processes."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import tisim
from tests.support import BACKBONE, GRAPHENE, RING
from tests.unit.sweep.conftest import same, write_trace
from tisim import InputError
from tisim.errors import TisimError
from tisim.studies.sweep.plan import Request, make_plan
from tisim.studies.sweep.worker import Worker
from tisim.traces import Trace

SPEC = {"platform": GRAPHENE, "workers": 1}
PAIR = "0 send 1 0 1e6\n0 compute 1e9\n1 recv 0 0 1e6\n"


def simulated(**arguments: object) -> float:
    return tisim.replay(RING, **{"platform": GRAPHENE, **arguments}).simulated_time  # type: ignore[arg-type]


def test_each_row_is_the_replay_of_its_scenario() -> None:
    frame = tisim.sweep(RING, vary={"bandwidth": ["x1", "x2"], "latency": ["x1", "5us"]}, **SPEC)
    assert list(frame["bandwidth"]) == ["x1", "x1", "x2", "x2"]
    assert list(frame["latency"]) == ["x1", "5us", "x1", "5us"]
    machine = tisim.Platform.load(GRAPHENE)
    for _, row in frame.iterrows():
        scaled = machine.scaled(bandwidth=row["bandwidth"], latency=row["latency"])
        result = tisim.replay(RING, platform=scaled)
        assert row["simulated_time"] == result.simulated_time
        assert row["compute_mean"] == result.compute.mean()
        assert row["communication_max"] == result.communication.max()
        assert row["messages_sent"] == result.messages_sent.sum()
        assert row["ratio"] == result.simulated_time / simulated()
        assert row["ranks"] == 4
    assert frame["error"].isna().all()
    assert (frame["wall_time"] > 0).all()


def test_every_kind_of_axis_reaches_the_replay(tmp_path: Path) -> None:
    hosts = tmp_path / "my.hosts"
    hosts.write_text("graphene-0.nancy.grid5000.fr:2\ngraphene-100.nancy.grid5000.fr:2\n")
    cases = {
        "speed": ("50%", {"platform": tisim.Platform.load(GRAPHENE).scaled(speed="x0.5")}),
        "platform": (BACKBONE, {"platform": BACKBONE}),
        "mapping": (hosts, {"deployment": tisim.Deployment.from_hostfile(hosts, 4)}),
        "network/model": ("CM02", {"config": {"network/model": "CM02"}}),
    }
    for axis, (value, arguments) in cases.items():
        frame = tisim.sweep(RING, vary={axis: [value]}, **SPEC)
        assert frame["error"][0] is None
        assert frame["simulated_time"][0] == simulated(**arguments) != simulated()


def test_a_scenario_with_another_trace_is_compared_to_that_trace(tmp_path: Path) -> None:
    other = write_trace(tmp_path, PAIR)
    frame = tisim.sweep(vary={"trace": [RING, other], "bandwidth": ["x1", "x2"]}, **SPEC)
    assert list(frame["ratio"][[0, 2]]) == [1, 1]
    assert frame["baseline_time"][0] != frame["baseline_time"][2]
    assert list(frame["ranks"]) == [4, 4, 2, 2]


def test_another_baseline() -> None:
    frame = tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, baseline={"bandwidth": "x2"}, **SPEC)
    fast = tisim.Platform.load(GRAPHENE).scaled(bandwidth="x2")
    assert frame["simulated_time"][0] == tisim.replay(RING, platform=fast).simulated_time
    assert frame["ratio"][0] == 1
    replaced = tisim.sweep(RING, vary={"bandwidth": ["x1"]}, baseline={"bandwidth": "x2"}, **SPEC)
    assert replaced["simulated_time"][0] == simulated()


def test_points_show_what_they_set() -> None:
    frame = tisim.sweep(RING, vary=[{}, {"bandwidth": "x2"}, {"latency": "x0.5"}], **SPEC)
    assert list(frame["scenario"]) == ["baseline", "bandwidth=x2", "latency=x0.5"]
    assert math.isnan(frame["latency"][1])
    assert frame["ratio"][0] == 1


def test_what_fails_is_a_row_and_the_rest_goes_on() -> None:
    vary = {"smpi/coll-selector": ["default", "nonsense"], "latency": ["x1", "x2"]}
    trace = {"trace": ["missing.trace", RING], "platform": [GRAPHENE, "missing.xml"]}
    frame = tisim.sweep(vary={**trace, **vary}, workers=1)
    fine = frame["error"].isna()
    assert list(frame[fine]["scenario"].str.contains("default")) == [True] * fine.sum()
    assert fine.sum() == 2
    assert frame["error"][0].startswith("InputError: ")
    assert "missing.trace" in frame["error"][0]
    assert frame[~fine]["simulated_time"].isna().all()
    assert "nonsense" in " ".join(frame["error"].dropna())


def test_a_deadlock_is_told_in_one_line(tmp_path: Path) -> None:
    trace = write_trace(tmp_path, "0 recv 1 0 8\n1 recv 0 0 8\n")
    frame = tisim.sweep(trace, **SPEC)
    assert frame["error"][0].startswith("SimulationError: deadlock at 0 s: 2 ranks wait")
    assert "\n" not in frame["error"][0]
    assert math.isnan(frame["ratio"][0])


def test_a_baseline_that_fails_leaves_the_ratio_open() -> None:
    frame = tisim.sweep(RING, vary={"smpi/async-small-thresh": [0]}, baseline={"cores": -1}, **SPEC)
    assert frame["error"][0] is not None
    frame = tisim.sweep(RING, vary={"cores": [1]}, baseline={"cores": -1}, **SPEC)
    assert frame["error"][0] is None
    assert math.isnan(frame["ratio"][0])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"platform": None}, "needs a platform"),
        ({"platform": "missing.xml"}, "missing.xml"),
        ({"seed": -1}, "a seed must be"),
        ({"replicates": 0}, "at least 1,"),
        ({"workers": 0}, "at least 1,"),
        ({"workers": "two"}, "workers must be a number, or dask://"),
        ({"hosts": ["a"], "deployment": "b.xml"}, "not both"),
        ({"output": "rows.xlsx"}, "a .csv or .parquet file"),
        ({"config": {"smpi/coll-selektor": "ompi"}}, "did you mean smpi/coll-selector"),
    ],
)
def test_what_concerns_all_scenarios_is_an_error(
    arguments: dict[str, object], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        tisim.sweep(RING, **{**SPEC, **arguments})  # type: ignore[arg-type]


def test_a_missing_trace_is_an_error() -> None:
    with pytest.raises(InputError, match="no-such-trace"):
        tisim.sweep("no-such-trace", **SPEC)
    with pytest.raises(InputError, match="needs a trace"):
        tisim.sweep(**SPEC)


def test_replicates_have_random_numbers_of_their_own() -> None:
    arguments = {**SPEC, "vary": {"speed_noise": [0, 0.2]}, "replicates": 3}
    frame = tisim.sweep(RING, **arguments)
    assert list(frame["replicate"]) == [0, 1, 2, 0, 1, 2]
    assert frame["simulated_time"][:3].nunique() == 1
    assert frame["simulated_time"][3:].nunique() == 3
    assert same(frame, tisim.sweep(RING, **arguments))
    other = tisim.sweep(RING, **arguments, seed=1)
    assert set(other["simulated_time"][3:]).isdisjoint(frame["simulated_time"][3:])


def test_compute_volumes_vary_with_the_seed_and_the_replicate() -> None:
    vary = {"compute_noise": [0, 0.2], "latency": ["x1", "x2"]}
    frame = tisim.sweep(RING, **SPEC, vary=vary, replicates=3)
    times = frame.pivot(index="replicate", columns=["compute_noise", "latency"])["compute_max"]
    assert times[0, "x1"].nunique() == 1
    assert times[0.2, "x1"].nunique() == 3
    # The random factors of a replicate are the same in all scenarios.
    assert times[0.2, "x1"].to_list() == pytest.approx(times[0.2, "x2"].to_list(), rel=1e-12)
    other = tisim.sweep(RING, **SPEC, vary=vary, replicates=3, seed=1)
    noisy = frame["compute_noise"] > 0
    assert set(other["simulated_time"][noisy]).isdisjoint(frame["simulated_time"][noisy])
    assert same(frame[~noisy].drop(columns="baseline"), other[~noisy].drop(columns="baseline"))


def test_noise_of_a_trace_is_part_of_it() -> None:
    noisy = Trace.open(RING).with_noise(0.2, seed=3)
    frame = tisim.sweep(**SPEC, vary={"trace": [noisy]})
    assert list(frame["trace"]) == [f"{RING} with 0.2 of noise, seed 3"]
    assert frame["simulated_time"][0] == tisim.replay(noisy, platform=GRAPHENE).simulated_time
    assert frame["simulated_time"][0] != tisim.replay(RING, platform=GRAPHENE).simulated_time


def test_impossible_noise_is_a_row_with_its_error() -> None:
    frame = tisim.sweep(RING, **SPEC, vary={"compute_noise": [-1, "much", 0.1]})
    assert "must not be negative" in frame["error"][0]
    assert "must be a coefficient of variation, not 'much'" in frame["error"][1]
    assert frame["error"].isna()[2]


def test_a_random_mapping_has_replicates_too() -> None:
    frame = tisim.sweep(RING, vary={"mapping": ["random", "random:1"]}, replicates=4, **SPEC)
    assert frame["key"][:4].nunique() == 4
    assert frame["key"][4:].nunique() == 1


def test_a_trace_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    original = Trace.open.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Trace], source: object, **options: object) -> Trace:
        opened.append(source)
        return original(cls, source, **options)  # type: ignore[no-any-return]

    monkeypatch.setattr(Trace, "open", classmethod(counted))
    vary = {"trace": [RING], "latency": ["x1", "x2", "x3"], "bandwidth": ["x1", "x2", "x3"]}
    frame = tisim.sweep(vary=vary, **SPEC)
    assert frame["error"].isna().all()
    assert opened == [str(RING)]


def test_equal_scenarios_are_simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[object] = []
    original = Worker.run
    monkeypatch.setattr(Worker, "run", lambda self, job: jobs.append(job) or original(self, job))
    frame = tisim.sweep(RING, vary={"latency": ["x2", "x2", "15us", "15us"]}, replicates=2, **SPEC)
    assert len(frame) == 8
    assert len(jobs) == 3  # the baseline and two more


def test_keys_follow_the_content_of_inputs(tmp_path: Path) -> None:
    def keys(**arguments: object) -> list[str]:
        request = Request(**{"trace": RING, "platform": GRAPHENE, **arguments})  # type: ignore[arg-type]
        return [scenario.key for scenario in make_plan(request).scenarios]

    copied = tmp_path / "copied.xml"
    copied.write_bytes(GRAPHENE.read_bytes())
    merged = write_trace(tmp_path, "".join(f.read_text() for f in sorted(RING.iterdir())))
    machine = tisim.Platform.load(GRAPHENE)
    assert keys() == keys(platform=copied) == keys(platform=machine)
    assert keys(trace=Trace.open(RING)) == keys()
    assert keys(trace=merged) != keys()
    changed = [
        {"platform": machine.scaled(bandwidth="x2")},
        {"config": {"smpi/coll-selector": "ompi"}},
        {"vary": {"latency": ["x2"]}},
        {"vary": {"latency[*sgraphene1*]": ["x2"]}},
        {"vary": {"speed_noise": [0.1]}},
        {"vary": {"speed_noise": [0.1]}, "seed": 1},
        {"vary": {"compute_noise": [0.1]}},
        {"vary": {"compute_noise": [0.1]}, "seed": 1},
        {"trace": Trace.open(RING).with_noise(0.1)},
        {"hosts": ["graphene-3.nancy.grid5000.fr"]},
    ]
    found = [*keys(), *(key for arguments in changed for key in keys(**arguments))]
    assert len(set(found)) == len(changed) + 1
    assert keys(vary={"latency": ["x2"]}) == keys(vary={"latency[*]": ["x2"]})
    assert keys(seed=1) == keys()
    assert keys(vary={"latency": ["x1"]}) == keys(vary={"speed_noise": [0]}) == keys()
    assert keys(vary={"compute_noise": [0]}) == keys()
    assert keys(vary={"cores": [1]}) != keys()


def test_processes_give_the_same_frame() -> None:
    arguments = {
        "platform": GRAPHENE,
        "vary": {
            "latency": ["x1", "x2", "x3"],
            "smpi/coll-selector": ["ompi", "nonsense", "mpich"],
            "bandwidth_noise": [0, 0.1],
            "compute_noise": [0.1],
        },
        "replicates": 2,
    }
    frame = tisim.sweep(RING, **arguments, workers=1)  # type: ignore[arg-type]
    for workers in (2, 3):
        assert same(frame, tisim.sweep(RING, **arguments, workers=workers))  # type: ignore[arg-type]


CRASH = """
import os, pathlib, tisim

@tisim.action("crash")
def crash(rank, marker, times):
    file = pathlib.Path(marker)
    count = len(file.read_text()) if file.exists() else 0
    if count < int(times):
        file.write_text("x" * (count + 1))
        os.kill(os.getpid(), 9)
    yield rank.env.timeout(0)
"""


@pytest.mark.parametrize("times", [1, 2])
def test_a_process_that_dies_takes_its_scenario_only(
    times: int, tmp_path: Path, make_module: Callable[..., str]
) -> None:
    module = make_module(f"crashing_{times}", CRASH)
    marker = tmp_path / "marker"
    fatal = write_trace(tmp_path, f"0 compute 1e6\n0 crash {marker} {times}\n")
    frame = tisim.sweep(
        RING,
        platform=GRAPHENE,
        vary=[{"latency": "x2"}, {"trace": fatal}, {"latency": "x3"}, {"latency": "x4"}],
        modules=[module],
        workers=2,
    )
    assert frame["error"][[0, 2, 3]].isna().all()
    if times == 1:
        assert frame["error"][1] is None
    else:
        assert frame["error"][1] == "WorkerDied: its process ended 2 times, with signal 9"


def test_workers_know_the_modules_of_registered_actions(make_module: Callable[..., str]) -> None:
    name = make_module(
        "my_barriers",
        "import tisim\n@tisim.collective('barrier', 'silent')\ndef silent(s):\n    pass\n",
    )
    __import__(name)
    frame = tisim.sweep(
        RING, platform=GRAPHENE, vary={"smpi/barrier": ["silent", "mpich"]}, workers=2
    )
    assert frame["error"].isna().all()


def test_what_is_defined_in_a_script_stays_in_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nap(rank: object) -> object:
        yield

    monkeypatch.setattr(nap, "__module__", "__main__")
    tisim.action("nap")(nap)  # type: ignore[type-var]
    arguments = {"platform": GRAPHENE, "vary": {"latency": ["x1", "x2"]}}
    with pytest.raises(InputError, match="put them into a module"):
        tisim.sweep(RING, **arguments, workers=2)  # type: ignore[arg-type]
    assert tisim.sweep(RING, **arguments)["error"].isna().all()  # type: ignore[arg-type]


def test_a_process_that_cannot_start_is_an_error(make_module: Callable[..., str]) -> None:
    source = f"import os\nif os.getpid() != {os.getpid()}:\n    import no_such_module\n"
    name = make_module("only_here", source)
    vary = {"latency": ["x1", "x2"]}
    with pytest.raises(TisimError, match="cannot start: ModuleNotFoundError"):
        tisim.sweep(RING, platform=GRAPHENE, vary=vary, modules=[name], workers=2)


def test_every_argument_is_documented() -> None:
    text = inspect.getdoc(tisim.sweep) or ""
    for name in inspect.signature(tisim.sweep).parameters:
        assert name in text
