"""Studies: TOML files, errors of invalid ones, and registries with the user's own actions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, RING, ROOT
from tests.unit.sweep.conftest import same, write_trace
from tisim import InputError
from tisim.commands.cli import main
from tisim.studies.sweep.plan import registry_digest
from tisim.studies.sweep.study import read_prices, read_study

STUDY = f"""\
trace = "{RING}"
platform = "{GRAPHENE}"
workers = 1
"""


def write(directory: Path, text: str) -> Path:
    file = directory / "study.toml"
    file.write_text(text)
    return file


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["sweep", *arguments])
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


def test_a_study_is_the_arguments_of_a_sweep(tmp_path: Path) -> None:
    text = """
seed = 3
replicates = 2
ranks = 4
[config]
"smpi/coll-selector" = "ompi"
[vary]
bandwidth = ["x1", "x2"]
"latency[*sgraphene1*]" = ["5us"]
mapping = "random"
[baseline]
speed = "x2"
"""
    frame = tisim.sweep(**read_study(write(tmp_path, STUDY + text)))
    expected = tisim.sweep(
        RING,
        platform=GRAPHENE,
        seed=3,
        replicates=2,
        ranks=4,
        config={"smpi/coll-selector": "ompi"},
        vary={"bandwidth": ["x1", "x2"], "latency[*sgraphene1*]": ["5us"], "mapping": "random"},
        baseline={"speed": "x2"},
        workers=1,
    )
    assert same(frame, expected)


def test_files_are_found_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "my.hosts").write_text("graphene-5.nancy.grid5000.fr\n")
    (tmp_path / "my.xml").write_bytes(GRAPHENE.read_bytes())
    (tmp_path / "my.trace").write_text("0 compute 1e6\n")
    study = read_study(
        write(
            tmp_path,
            'trace = "my.trace"\nplatform = "my.xml"\nhosts = "my.hosts"\nworkers = 1\n'
            'output = "rows.csv"\n[vary]\nmapping = ["my.hosts", "block:2"]\n'
            'platform = ["my.xml"]\ntrace = ["my.trace"]\n',
        )
    )
    frame = tisim.sweep(**study)
    assert list(frame["mapping"]) == ["my.hosts", "block:2"]
    assert list(frame["trace"]) == ["my.trace"] * 2
    assert frame["error"].isna().all()
    assert (tmp_path / "rows.csv").exists()


def test_a_list_of_points(tmp_path: Path) -> None:
    (tmp_path / "my.hosts").write_text("graphene-5.nancy.grid5000.fr\n")
    text = STUDY + '[[vary]]\nbandwidth = "2x"\n[[vary]]\nmapping = "my.hosts"\n'
    frame = tisim.sweep(**read_study(write(tmp_path, text)))
    assert list(frame["scenario"]) == ["bandwidth=x2", "mapping=my.hosts"]
    assert frame["error"].isna().all()


def test_ranges_and_labels(tmp_path: Path) -> None:
    text = STUDY.replace("workers", "sample = 5\nworkers") + (
        "[vary]\nlatency = { log_uniform = ['x0.1', 'x10'] }\n"
        "[vary.bandwidth]\ntoday = 'x1'\nlater = 'x10'\n"
    )
    frame = tisim.sweep(**read_study(write(tmp_path, text)))
    assert len(frame) == 5
    assert set(frame["bandwidth"]) == {"today", "later"}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("trace = \n", 1, "this is not TOML"),
        ('tarce = "a"\n', 1, "unknown key 'tarce' in a study; did you mean trace?"),
        ("\n\n[varry]\nbandwidth = [1]\n", 3, "did you mean vary?"),
        ("wizardry = 1\n", 1, "known are trace, platform"),
        ('ranks = "four"\n', 1, "ranks must be a whole number, not 'four'"),
        ("seed = true\n", 1, "seed must be a whole number"),
        ("hosts = 3\n", 1, "hosts must be a text or a list of texts"),
        ("vary = 3\n", 1, "vary must be a table or a list of tables"),
        ("[vary]\n# speed\nbandwith = [1]\n", 3, "did you mean bandwidth"),
        ('[vary]\n"latency[a*]" = []\n', 2, "has no values to vary over"),
        ("[vary]\ncores = [[1]]\n", 2, "it must be a number or a text"),
        ("[vary]\nspeed = [1, 2]\n", 2, "not 1: use x1 or 2Gf"),
        ("[vary.speed]\nuniform = [3]\n", 1, "needs two numbers"),
        ("[[vary]]\ncores = 2\n[[vary]]\nsped = 2\n", 4, "did you mean speed?"),
        ("[baseline]\nsped = 2\n", 2, "did you mean speed?"),
        ('[config]\n"smpi/coll-selektor" = "a"\n', 2, "did you mean smpi/coll-selector"),
        ('[config]\n"smpi/os" = "a"\n', 2, "smpi/os"),
    ],
)
def test_mistakes_have_a_line(text: str, line: int, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_study(write(tmp_path, text))
    assert error.value.line == line
    assert problem in error.value.message


def test_a_study_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read this study: No such file"):
        read_study(tmp_path / "missing.toml")
    (tmp_path / "study.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_study(tmp_path / "study.toml")


def test_the_command_prints_a_table_and_writes_the_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = write(tmp_path, STUDY + "[vary]\nbandwidth = ['x1', 'x2']\n")
    status, out, err = run([str(study)], capsys)
    assert status == 0
    assert all(line.startswith("tisim: wrote ") for line in err.splitlines())
    header, first, second, _, trust, last = out.splitlines()
    assert header.split() == [
        "bandwidth",
        "simulated",
        "time",
        "ratio",
        "compute",
        "communication",
    ]
    assert first.split()[0] == "x1"
    assert second.split()[0] == "x2"
    assert trust.startswith("trust: no measurements or real runs are stored next to graphene.xml")
    assert last == "2 scenarios in study.csv"
    assert len((tmp_path / "study.csv").read_text().splitlines()) == 3


def test_the_command_says_how_many_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(tmp_path, STUDY + "[vary]\ncores = [-1, 1]\nspeed_noise = [-1, 0]\n")
    status, out, err = run([str(study), "--output", str(tmp_path / "rows.csv")], capsys)
    assert status == 1
    assert [line.split()[2] for line in out.splitlines()[1:4]] == ["failed"] * 3
    assert "tisim: 3 of 4 scenarios failed; the first, cores=-1, speed_noise=-1: " in err
    assert "InputError: cores must be a whole number above zero" in err


def test_a_long_table_is_left_to_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = write(tmp_path, STUDY + f"[vary]\nbandwidth = {[f'x{n}' for n in range(1, 51)]}\n")
    status, out, _ = run([str(study), "--output", str(tmp_path / "rows.csv")], capsys)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["fastest", "slowest"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["missing.toml"], "missing.toml: cannot read this study"),
        (["{study}", "--workers", "many"], "workers must be a number, or dask://"),
        (["{study}", "--output", "rows.xls"], "rows.xls: the output of a sweep must be"),
    ],
)
def test_mistakes_of_the_command_line(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    study = write(tmp_path, STUDY)
    status, _, err = run([word.format(study=study) for word in arguments], capsys)
    assert status == 2
    assert problem in err
    assert "Traceback" not in err
    assert [file.name for file in tmp_path.iterdir()] == ["study.toml"]


def test_a_module_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = write(tmp_path, STUDY + 'modules = ["no_such_module"]\n')
    status, _, err = run([str(study)], capsys)
    assert (status, err) == (2, "tisim: no module 'no_such_module' to import\n")


def test_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = ROOT / "examples" / "sweeps" / "study.toml"
    arguments: dict[str, Any] = read_study(study)
    assert len(arguments["vary"]) == 4
    target = tmp_path / "rows.csv"
    status, out, err = run([str(study), "--workers", "1", "--output", str(target)], capsys)
    assert status == 0
    assert all(line.startswith("tisim: wrote ") for line in err.splitlines())
    assert out.splitlines()[-1] == f"60 scenarios in {target}"


def test_every_key_of_the_example_that_is_a_comment_works_too(tmp_path: Path) -> None:
    lines = (ROOT / "examples" / "sweeps" / "study.toml").read_text().splitlines()
    head = lines[: lines.index("[config]")]
    wanted = ("workers", "output", "sample", "seed", "deployment")
    shown = [line for line in head if line.removeprefix("# ").split(" = ")[0] in wanted]
    assert len(shown) == len(wanted)
    text = "\n".join(line.removeprefix("# ") for line in shown)
    prices = [line.removeprefix("# ") for line in lines[lines.index("# [prices]") :]]
    del lines[lines.index("# [prices]") :]
    axes = [line[2:].partition("  #")[0] for line in lines if line.startswith(("# ", '# "'))]
    axes = [line for line in axes if " = [" in line or " = {" in line]
    axes = [line for line in axes if not line.startswith("hosts")]
    assert len(axes) == 8
    read_study(write(tmp_path, text + "\n[vary]\n" + "\n".join(axes) + "\n"))
    study = write(tmp_path, STUDY + "\n".join(prices) + "\n")
    assert read_prices(study) is not None
    assert "prices" not in read_study(study)


VARY = {"latency": ["x1", "x2", "x3"]}
NAPS = """
def nap(rank, seconds):
    yield rank.env.timeout(float(seconds))

def slow_nap(rank, seconds):
    yield rank.env.timeout(2 * float(seconds))

def silent(s):
    "A barrier that waits for nobody."
"""


@pytest.fixture
def naps(make_module: Callable[..., str]) -> Any:
    return importlib.import_module(make_module("registered_naps", NAPS))


def with_nap(function: Any) -> tisim.Registry:
    registry = tisim.Registry()
    registry.action("nap")(function)
    return registry


def local_nap() -> Any:
    def nap(rank: Any, seconds: str) -> Generator[Any, Any, None]:
        yield rank.env.timeout(float(seconds))

    return nap


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_use_the_registry(workers: int, naps: Any, tmp_path: Path) -> None:
    registry = with_nap(naps.nap)
    registry.collective("barrier", "silent")(naps.silent)
    trace = write_trace(tmp_path, "0 nap 0.5\n0 barrier\n")
    arguments: dict[str, Any] = {
        "platform": GRAPHENE,
        "vary": {"smpi/barrier": ["silent", "mpich"]},
        "workers": workers,
    }
    frame = tisim.sweep(trace, **arguments, registry=registry)
    assert frame["error"].isna().all()
    assert (frame["simulated_time"] >= 0.5).all()
    assert dict(tisim.default_registry.actions) == {}
    assert tisim.sweep(trace, **arguments)["error"].notna().all()


def test_keys_depend_on_names_and_functions(
    naps: Any, tmp_path: Path, make_module: Callable[..., str]
) -> None:
    trace = write_trace(tmp_path, "0 nap 0.5\n")
    frames = [
        tisim.sweep(trace, platform=GRAPHENE, vary=VARY, workers=1, registry=with_nap(function))
        for function in (naps.nap, naps.slow_nap, naps.nap)
    ]
    assert list(frames[1]["simulated_time"] - frames[0]["simulated_time"]) == [0.5] * 3
    assert not set(frames[0]["key"]) & set(frames[1]["key"])
    assert same(frames[0], frames[2])
    # The file of the functions is also included.
    make_module("registered_naps", NAPS + "\nWHAT = 1\n")
    again = tisim.sweep(trace, platform=GRAPHENE, vary=VARY, workers=1, registry=with_nap(naps.nap))
    assert not set(frames[0]["key"]) & set(again["key"])


def test_an_output_file_is_not_resumed_with_another_registry(naps: Any, tmp_path: Path) -> None:
    trace = write_trace(tmp_path, "0 nap 0.5\n")
    for function, seconds in ((naps.nap, 0.5), (naps.slow_nap, 1.0)):
        frame = tisim.sweep(
            trace,
            platform=GRAPHENE,
            workers=1,
            registry=with_nap(function),
            output=tmp_path / "rows.csv",
        )
        assert list(frame["simulated_time"]) == [seconds]


def test_the_default_registry_does_not_matter_beside_another(naps: Any) -> None:
    plain = tisim.sweep(RING, platform=GRAPHENE, vary=VARY, workers=1, registry=tisim.Registry())
    tisim.action("nap")(local_nap())
    frame = tisim.sweep(RING, platform=GRAPHENE, vary=VARY, workers=2, registry=tisim.Registry())
    assert same(frame, plain)


def test_functions_that_workers_cannot_import(
    tmp_path: Path, naps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write_trace(tmp_path, "0 nap 0.5\n")
    arguments: dict[str, Any] = {"platform": GRAPHENE, "vary": VARY}
    registry = with_nap(local_nap())
    with pytest.raises(InputError, match=r"local.* at the top level of a module, or use workers=1"):
        tisim.sweep(trace, **arguments, registry=registry, workers=2)
    assert tisim.sweep(trace, **arguments, registry=registry)["error"].isna().all()
    monkeypatch.setattr(naps.nap, "__module__", "__main__")
    with pytest.raises(InputError, match="put them into a module and import it, or use workers=1"):
        tisim.sweep(trace, **arguments, registry=with_nap(naps.nap), workers=2)
    assert tisim.sweep(trace, **arguments, registry=with_nap(naps.nap))["error"].isna().all()


def test_functions_of_a_script_count_with_their_source(
    naps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naps.nap, "__module__", "__main__")
    before = registry_digest(with_nap(naps.nap))
    assert registry_digest(with_nap(naps.nap)) == before
    monkeypatch.setattr(naps.slow_nap, "__module__", "__main__")
    monkeypatch.setattr(naps.slow_nap, "__qualname__", naps.nap.__qualname__)
    assert registry_digest(with_nap(naps.slow_nap)) != before
