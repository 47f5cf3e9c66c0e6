"""A campaign of hostile command lines: ``python -m tests.torture.campaign --cases 10000``."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import importlib
import json
import os
import pkgutil
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import tisim
from tests.torture.mutations import WORDS, mutate, write_inputs
from tisim.commands.cli import INTERNAL_ERROR

# Command lines: IN/ is the directory of inputs, OUT/ that of outputs.
_REPLAY = "replay --platform IN/backbone.xml"
_LINKS = "--bandwidth 1GBps --latency 1us --speed 1Gf"
COMMANDS = [
    *(f"{_REPLAY} IN/{trace}" for trace in ("ring.tit", "ring.txt", "ring.txt.gz", "ring.tar.xz")),
    f"{_REPLAY} --deploy IN/backbone.deploy.xml --json OUT/o.json IN/ring.tit",
    f"{_REPLAY} --hostfile IN/backbone.hosts --breakdown --gantt OUT/o.svg IN/ring.txt",
    f"{_REPLAY} --mapping block:2 --bandwidth x2 --report OUT/o.html IN/ring.tit",
    f"{_REPLAY} --timeline OUT/o.tir --timeline OUT/o.perfetto-trace IN/ring.tit",
    f"{_REPLAY} --timeline OUT/o.csv --timeline OUT/o.prv --jitter 3 IN/ring.tit",
    f"{_REPLAY} --cfg network/ordering:fifo --skip-steady 1e-6 --timeline OUT/o.trace IN/ring.tit",
    f"{_REPLAY} --kernel simpy --json OUT/o.json IN/ring.txt",
    "replay --platform IN/fat.xml --json OUT/o.json IN/halo.16.tit",
    "replay --platform IN/fat.xml --breakdown IN/io.tit",
    *["view IN/run.tir --static OUT/o"] * 2,
    "view --platform IN/backbone.xml IN/ring.tit IN/run.tir --static OUT/o",
    "sweep IN/study.toml --workers 1 -o OUT/o.csv --report OUT/o.html",
    "sweep IN/study.toml --workers 1 -o IN/sweep.csv",
    "compare IN/run.json IN/run.json --json OUT/o.json --report OUT/o.html",
    "record -o OUT/o.tit",
    "record -o OUT/o.tit --counter x -- IN/nothing",
    "execute IN/ring.tit --print-source OUT/o",
    "validate IN/validation.toml -o OUT/o.html --json OUT/o.json",
    *(
        f"import --speed 1Gf IN/import-{name}/{file} -o OUT/o.tit --timeline OUT/o.csv"
        for name, file in (
            ("dimemas", "run.dim"),
            ("dumpi", "rank.bin"),
            ("goal", "schedule.goal"),
            ("binary-goal", "schedule.goal"),
            ("liballprof", "t-0.txt"),
            ("paraver", "run.prv"),
            ("scalatrace", "0"),
            ("table", "calls.csv"),
            ("darshan", "dxt.txt"),
        )
    ),
    "import --speed 1Gf --column rank=rank IN/import-table/calls.csv -o OUT/o",
    "generate halo3d --ranks 8 -o OUT/o.tit",
    "generate wavefront --ranks 6 --iterations 2 -o OUT/o",
    "extrapolate IN/halo.4.tit IN/halo.9.tit IN/halo.16.tit --to 25 --show -o OUT/o.tit",
    *(f"check --json OUT/o.json IN/{name}" for name in ("ring.tit", "ring.txt", "ring.tar.xz")),
    "check IN/ring.txt.gz",
    "inspect --statistics --json OUT/o.json IN/ring.tit",
    "inspect IN/io.tit",
    "pack IN/ring.txt -o OUT/o.tit",
    "pack --volumes mean IN/ring.tit -o OUT/o.tit",
    "unpack IN/ring.tit -o OUT/o",
    "platform IN/backbone.xml --route c-0.me c-1.me",
    "platform IN/fat.xml --draw OUT/o.svg --json OUT/o.json",
    "platform IN/backbone.xml --draw OUT/o.svg --load IN/run.json",
    f"platform new torus --nodes 8 --dims 2,2,2 {_LINKS} -o OUT/o.xml",
    "platform new fat-tree --nodes 64 --calibrated IN/backbone.xml -o OUT/o.xml",
    f"platform new dragonfly --nodes 16 {_LINKS} -o OUT/o.xml",
    *(
        f"calibrate IN/{name} --latency 15us --platform IN/backbone.xml -o OUT/o.xml"
        for name in ("skampi.txt", "osu.txt", "imb.txt")
    ),
    "calibrate disk IN/ior.txt --platform IN/fat.xml -o OUT/o.xml",
    "benchmark --print-source OUT/o",
    "benchmark --print",
    "completion bash",
    "cc",
    "--unpack-limit 1MiB check IN/ring.tar.xz",
]
FAULTS = (
    "",
    "",
    "",
    "",
    "",
    "stdin",
    "stdout",
    "stderr",
    "full",
    "size",
    "permission",
    "int",
    "pipe",
)


@dataclass(frozen=True)
class Case:
    """A command line and the fault injected while it runs."""

    words: list[str]
    fault: str
    #: Amount of the fault: maximum file size in bytes, seconds until a signal, etc.
    amount: float
    #: Damaged inputs, by name.
    changed: dict[str, bytes] = field(repr=False)
    #: True if the outputs already exist, as files of earlier runs.
    overwrites: bool = False


def draw_case(sound: Path, directory: Path, seed: int) -> Case:
    """Draw the case with this seed; `directory`: where it will run."""
    random = Random(seed)
    words = random.choice(COMMANDS).split()
    named = [word.removeprefix("IN/") for word in words if word.startswith("IN/")]
    changed = {}
    if named and random.random() < 0.75:
        name = random.choice([name for name in named if (sound / name).is_file()] or [""])
        if name:
            changed[name] = mutate(name, (sound / name).read_bytes(), random)
    if random.random() < (0.2 if changed else 0.7):
        at = random.randrange(len(words))
        word = random.choice(WORDS).decode(errors="surrogateescape").replace("\0", "")
        match random.randrange(4):
            case 0:
                words[at] = word
            case 1:
                words.insert(at + 1, word)
            case 2:
                del words[at]
            case _:
                words[at] += word
    places = {"IN/": f"{directory}/in/", "OUT/": f"{directory}/out/"}
    for sign, place in places.items():
        words = [word.replace(sign, place) for word in words]
    amount = random.choice((0, 10, 1000, 20_000)) + random.random() * 0.4
    return Case(words, random.choice(FAULTS), amount, changed, random.random() < 0.5)


# A case hangs after this many seconds of processor time, or seconds of real time, which allow for
# other processes on the machine.
_LONGEST = 10
_MOST_PATIENCE = 120.0
_MEMORY = 4 << 30
_PIPE = 1 << 20
_LONGEST_NAME = 100
_OLD = b"what an earlier run has left"
_PAGES = (".html", ".svg", ".xml")


def run_case(case: Case, sound: Path, directory: Path) -> str:
    """Run a case; return a description of incorrect behaviour, or an empty string."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(sound, directory / "in")
    (directory / "out").mkdir()
    for name, content in case.changed.items():
        (directory / "in" / name).write_bytes(content)
    words = [word for word in case.words if re.fullmatch(rf"{directory}/out/o\.[\w-]+", word)]
    outputs = [Path(word) for word in words if len(Path(word).name) < _LONGEST_NAME]
    for path in outputs if case.overwrites else ():
        path.write_bytes(_OLD)
    reader, writer = os.pipe()  # not subject to limits on file sizes
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE)
    os.set_blocking(writer, False)
    child = os.fork()
    if child == 0:
        _be_the_command(case, directory, writer)
    os.close(writer)
    start = time.monotonic()
    status = None
    while status is None and time.monotonic() < start + _MOST_PATIENCE:
        done, code = os.waitpid(child, os.WNOHANG)
        status = code if done else time.sleep(0.005)
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(reader, errors="replace") as file:
        said = file.read()
    if status is None:
        return f"waits for {_MOST_PATIENCE:g} s: {said[-1000:]}"
    return _judged(case, directory, outputs, os.waitstatus_to_exitcode(status), said)


def _be_the_command(case: Case, directory: Path, said: int) -> None:
    status = 99
    try:
        os.chdir(directory)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (used + _LONGEST, used + _LONGEST))
        _redirect(case, said)
        sys.argv = ["tisim", *case.words]
        from tisim.__main__ import main

        _prepare(case, directory)
        main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 98
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def _redirect(case: Case, said: int) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    if case.fault in ("stdin", "stdout", "stderr"):
        os.close(("stdin", "stdout", "stderr").index(case.fault))
    if case.fault == "full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    if case.fault == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 1)
        os.close(writer)
    # Open the streams in the same way as Python.
    for number, stream in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
            buffering = 1 if stream == "stderr" else -1
            errors = "backslashreplace" if stream == "stderr" else "strict"
            mode = "w" if number else "r"
            opened = os.fdopen(number, mode, buffering, errors=errors, closefd=False)
        except OSError:
            opened = None
        setattr(sys, stream, opened)
        setattr(sys, f"__{stream}__", opened)


def _prepare(case: Case, directory: Path) -> None:
    if case.fault == "size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(case.amount), int(case.amount)))
    elif case.fault == "permission":
        (directory / "out").chmod(0o500)
        _drop_capabilities()
    elif case.fault == "int":
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, case.amount % 1 + 1e-4)


def _drop_capabilities() -> None:
    """Make file permissions apply to root, too."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capset(ctypes.byref(header), ctypes.byref(data))


def _judged(case: Case, directory: Path, outputs: list[Path], status: int, said: str) -> str:
    (directory / "out").chmod(0o700)
    if "Traceback" in said or "Exception ignored" in said or "Fatal" in said:
        return f"a traceback: {said[-3000:]}"
    if status == INTERNAL_ERROR:
        return said
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"hangs for {_LONGEST} s: {said[-1000:]}"
    # A compiler that replaces the process of the command does not keep its handlers.
    ended = (-signal.SIGINT, -signal.SIGALRM) if case.fault == "int" else ()
    if status not in (0, 1, 2, 130, *ended):
        return f"ended with {status}: {said[-1000:]}"
    if status == 2 and not said.strip() and case.fault != "stderr":
        return "ended with 2 and without a word"
    left = [path for path in (directory / "out").iterdir() if path.name.startswith(".")]
    if left:
        return f"left {left[0].name} behind"
    for path in outputs:
        if path.is_file():
            content = path.read_bytes()
            if content != _OLD and (why := what_is_cut(path, content)):
                return f"wrote half of {path.name} ({why}), status {status}: {said[-500:]}"
        elif case.overwrites:
            return f"the old {path.name} is gone"
    return ""


def what_is_cut(path: Path, content: bytes) -> str:
    """Return why an output file is incomplete, or an empty string."""
    try:
        if path.suffix == ".json":
            json.loads(content)
        elif path.suffix in _PAGES:
            assert content.rstrip().endswith(b">"), "no end"
        elif path.suffix == ".tit":
            from tisim import Trace

            Trace.open(path)
        elif path.suffix == ".tir":
            from tisim.analysis.timeline.run_file import RunFile

            RunFile(path)
        elif path.suffix in (".csv", ".prv", ".trace"):
            assert content.endswith(b"\n"), "no end of a line"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def number_of(seed: int) -> int:
    """Derive the seed of a case from that of a campaign."""
    return Random(seed).randrange(1 << 48)


_SHOWN = 200


def import_everything() -> None:
    """Import all modules, so that the forked processes of the cases need not."""
    # The tisim.__path__ of an editable install also contains the folder above the checkout.
    root = str(Path(tisim.__file__).parent)
    for module in pkgutil.walk_packages([root], "tisim."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue


def campaign(cases: int, seed: int, room: Path, keep: Path | None = None) -> list[str]:
    """Run `cases` cases and return a description of each failure."""
    sound, directory = room / "sound", room / "case"
    sound.mkdir()
    import_everything()
    write_inputs(sound)
    wrong = []
    for number in range(seed, seed + cases):
        case = draw_case(sound, directory, number)
        if found := run_case(case, sound, directory):
            wrong.append(_described(number, case, found))
            if keep is not None:
                shutil.copytree(directory, keep / str(number), dirs_exist_ok=True)
                print(wrong[-1], flush=True)
    return wrong


def _described(number: int, case: Case, found: str) -> str:
    changed = ", ".join(f"{name} ({len(text)} bytes)" for name, text in case.changed.items())
    words = " ".join(shlex.quote(word[:_SHOWN]) for word in case.words)
    return f"{number}: tisim {words} [{case.fault or 'no fault'}, changed: {changed}]\n    {found}"


def main() -> None:
    """Run a campaign; the files of failed cases are kept in a directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("build", "torture"))
    chosen = parser.parse_args()
    keep: Path = chosen.keep
    keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tisim-torture-") as room:
        wrong = campaign(chosen.cases, chosen.seed, Path(room), keep)
    print(f"{chosen.cases} cases from {chosen.seed}: {len(wrong)} went wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
