"""One hostile call of the command line: its words, its inputs and its surroundings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.torture.mutations import WORDS, mutate

# Words of commands: IN/ is the directory of the inputs, OUT/ that of the outputs.
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
    """What is called, and what goes wrong."""

    words: list[str]
    fault: str
    #: Bytes that a file may have, seconds until a signal, and so on.
    amount: float
    #: The inputs that differ from the sound ones.
    changed: dict[str, bytes] = field(repr=False)
    #: True if files of earlier runs stand in the place of the outputs.
    overwrites: bool = False


def draw_case(sound: Path, directory: Path, seed: int) -> Case:
    """The case with this number; `directory` is where it will be run."""
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
