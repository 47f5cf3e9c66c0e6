"""``tisim replay`` on the SimPy kernel: with and without the compiled core, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE, RING
from tests.unit.project.import_graph import ROOT
from tisim.errors import MissingCoreError
from tisim.support import missing_core


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the installed packages without tisim."""
    directory = tmp_path_factory.mktemp("packages")
    for package in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if "tisim" not in package.name and package.suffix != ".pth":
            (directory / package.name).symlink_to(package)
    return directory


def without_core(packages: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run tisim from the sources, without a core."""
    code = (
        "import sys\nsys.meta_path[:] = sys.meta_path[-3:]\n"
        f"sys.path[:] = {[str(ROOT), str(packages)]!r} + "
        "[p for p in sys.path if 'site-packages' not in p]\n"
        "from tisim.commands.cli import main\nmain(sys.argv[1:])"
    )
    command = [sys.executable, "-I", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_without_a_core_the_simpy_kernel_replays(packages: Path) -> None:
    run = without_core(packages, "replay", "--platform", str(GRAPHENE), str(RING))
    assert run.stdout.splitlines()[0] == "simulated time      0.036659 s"
    assert run.stderr == (
        f"tisim: warning: {MissingCoreError()}; this was simulated on the SimPy kernel, which is "
        "slow\n"
    )


def test_without_a_core_nothing_is_said_where_the_simpy_kernel_is_asked_for(packages: Path) -> None:
    arguments = ("replay", "--kernel", "simpy", "--platform", str(GRAPHENE), str(RING))
    assert without_core(packages, *arguments).stderr == ""


def test_without_a_core_other_commands_say_how_to_get_it(packages: Path) -> None:
    for arguments in (
        ["replay", "--kernel", "core", "--platform", str(GRAPHENE), str(RING)],
        ["check", str(RING)],
    ):
        run = without_core(packages, *arguments)
        assert (run.returncode, run.stderr) == (
            1,
            f"tisim: {MissingCoreError()}\n",
        )


def test_the_stand_in_has_the_numbers_of_the_core() -> None:
    assert missing_core.ANY_SOURCE == tisim._core.ANY_SOURCE
    assert missing_core.PROC_NULL == tisim._core.PROC_NULL
    for name in ("StepCode", "Stage"):
        stand_in, real = getattr(missing_core, name), getattr(tisim._core, name)
        assert {one.name: one.value for one in stand_in} == {one.name: one.value for one in real}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"event_log": True}, "does not support event logs, timelines, jitter"),
        ({"jitter": 5}, "does not support event logs, timelines, jitter"),
        ({"config": {"network/ordering": "fifo"}}, "network/ordering is fifo"),
        ({"config": {"smpi/iprobe-cpu-usage": "0.5"}}, "smpi/iprobe-cpu-usage leaves part"),
        ({"kernel": "fast"}, "kernel must be core or simpy, not 'fast'"),
        ({"ranks": 5}, "is a trace of 4 ranks, not of the requested 5"),
    ],
)
def test_what_only_the_core_has_is_refused(options: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"kernel": "simpy", **options}
    with pytest.raises(tisim.InputError, match=message):
        tisim.replay(RING, platform=GRAPHENE, **given)  # type: ignore[arg-type]


def test_a_call_on_files_is_refused_with_its_place(tmp_path: Path) -> None:
    trace = tmp_path / "t.txt"
    trace.write_text("0 init\n0 open 1 /scratch/data\n")
    with pytest.raises(tisim.InputError, match=r"t\.txt:2: .*the action 'open'"):
        tisim.replay(trace, platform=GRAPHENE, kernel="simpy")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("send 0 0 8 comm=3", "rank 0 is not in a communicator 3 here"),
        ("wait request=7", "no request 7 here"),
        ("waitall requests=1,1", "request 1 occurs twice in requests="),
    ],
)
def test_a_wrong_call_is_refused_with_its_place(call: str, message: str, tmp_path: Path) -> None:
    trace = tmp_path / "t.txt"
    trace.write_text(f"0 init\n0 {call}\n")
    with pytest.raises(tisim.InputError, match=rf"t\.txt:2: .*{message}"):
        tisim.replay(trace, platform=GRAPHENE, kernel="simpy")


def test_models_of_your_own_need_the_simpy_kernel() -> None:
    from tisim.models import NetworkModel

    with pytest.raises(tisim.InputError, match="models of your own need"):
        tisim.replay(RING, platform=GRAPHENE, network_model=NetworkModel())


def test_a_host_model_of_your_own_decides_the_rate() -> None:
    from tisim.models import HostModel

    class HalfSpeed(HostModel):
        def rate(self, speed: float, cores: int, computations: int) -> float:
            return super().rate(speed, cores, computations) / 2

    usual = tisim.replay(RING, platform=GRAPHENE, kernel="simpy")
    half = tisim.replay(RING, platform=GRAPHENE, kernel="simpy", host_model=HalfSpeed())
    assert half.compute.tolist() == pytest.approx(2 * usual.compute)


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("latency", -1.0, "latency returned -1.0; it must return a non-negative finite number"),
        ("latency", float("nan"), "latency returned nan"),
        ("length", float("inf"), "length returned inf"),
        ("length", "long", "length returned 'long'"),
        ("penalty", 0, "penalty returned 0; it must return a positive finite number"),
        ("bound", -5, "bound returned -5; it must return a non-negative number"),
        ("shares", "fair", "shares must return a non-negative number for each of"),
        ("shares", [-1.0], "shares must return a non-negative number for each of"),
    ],
)
def test_wrong_answers_of_a_network_model_are_refused(
    method: str, answer: object, message: str
) -> None:
    from tisim.models import NetworkModel

    wrong = type("Wrong", (NetworkModel,), {method: lambda *_: answer})
    with pytest.raises(tisim.InputError, match=f"Wrong.{message}"):
        tisim.replay(RING, platform=GRAPHENE, kernel="simpy", network_model=wrong())


def test_a_model_is_an_instance_of_its_class() -> None:
    from tisim.models import HostModel, NetworkModel

    for given in ({"network_model": NetworkModel}, {"host_model": NetworkModel()}):
        with pytest.raises(tisim.InputError, match=r"must be an instance of tisim\.models\."):
            tisim.replay(RING, platform=GRAPHENE, kernel="simpy", **given)  # type: ignore[arg-type]
    never = type("Never", (HostModel,), {"rate": lambda *_: None})
    with pytest.raises(tisim.InputError, match=r"Never\.rate returned None"):
        tisim.replay(RING, platform=GRAPHENE, kernel="simpy", host_model=never())
