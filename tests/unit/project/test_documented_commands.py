"""Commands that documents and help texts show without output can be run as they are.

Those with output are in ``test_document_examples.py``. Commands that need an MPI launcher, a third
party's file or minutes are only parsed: their options exist.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.support import ROOT
from tests.unit.command_line import CommandLine
from tisim.commands import Branching
from tisim.commands.cli import main
from tisim.commands.cli import tisim as group

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS += sorted((ROOT / "docs").glob("[hr]*/*.md"))

#: Commands that are only parsed, and the reason.
READ_ONLY = {
    r"record |execute |benchmark --run": "needs MPI; the tests of these commands run it",
    r"unpack .*--calls": "a trace that was recorded with --arguments all",
    r"view (?!--static)": "serves until it is stopped",
    r"import ": "files of other tools; tests/unit/importers make them",
    r"step .*(recorded|\.et|\.sqlite)": "files of the profilers and of Chakra",
    r"extrapolate .*--parallelism": "files of the profilers and of Chakra",
    r"calibrate host ": "needs MPI; the tests of this command run it",
    r"calibrate (cpu|disk|skampi|pingpong|osu|measured.csv --platform)": "files of other programs",
    r"calibrate regions |replay .*large.times.tit": "recordings; its tests make some",
    r"(replay|check|pack) .*--graph": "graphs and traces; tests/unit/gpu/test_launched.py has some",
    r".*--uncertainty": "parameter sets of a calibration",
    r".*--workers": "a cluster, or all processors",
    r"validate |explain ": "measured runs",
    r".*(--ranks 100000|--to (16384|1000000)|175b|70b|-e 8G|--plot lu.svg)": "takes minutes",
}
#: Replacements: smaller files of the same kind, and values for placeholders.
STANDS_FOR = {
    "lu.A.8.tar.xz": "traces/npb.S.tar.xz/lu.S.4",
    "traces/": "program",
    "traces/lu.A.8.tar.xz": "traces/npb.S.tar.xz/lu.S.4",
    "trace.index": "program",
}


STUDY = """
trace = "program"
platform = "p.xml"
[vary]
bandwidth = ["x1", "x10"]
"""


def commands_of(text: str) -> Iterator[str]:
    """Yield the lines that start with a tisim command, without shell syntax."""
    names = "|".join(map(re.escape, group.list_commands(click.Context(group))))
    whole = re.sub(r"\\\n\s*", "", text)
    for line in re.findall(rf"^ *(tisim (?:{names}) .*)$", whole, re.M):
        for part in re.split(r" && ", re.sub(r" +# .*| [|>].*", "", line)):
            if not re.match(r"tisim (cc|c\+\+|fc) ", part):  # their options are the compiler's
                yield part.strip()


def blocks(file: Path) -> Iterator[str]:
    """Yield the code blocks of a document that are not tested with their output elsewhere."""
    text = file.read_text()
    yield from re.findall(r"^```(?:shell-session)?\n(.*?)^```", text, re.S | re.M)
    yield from re.findall(r"^(?: {4}\S.*\n)+", text, re.M)


def help_texts(command: click.Command, path: str = "tisim") -> Iterator[tuple[str, str]]:
    """Yield the name of each command, and its help."""
    yield path, f"{command.help}\n{command.epilog}"
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found
            yield from help_texts(found, f"{path} {name}")
    for name, found in command.further.items() if isinstance(command, Branching) else ():
        yield from help_texts(found, f"{path} {name}")


def documented() -> dict[str, list[str]]:
    """Return the commands of each document or help text; each calibration only once."""
    texts = {str(file.relative_to(ROOT)): "\n".join(blocks(file)) for file in DOCUMENTS}
    texts |= dict(help_texts(group))
    found = {name: list(dict.fromkeys(commands_of(text))) for name, text in texts.items()}
    calibrated: set[str] = set()
    for name, lines in found.items():
        found[name] = [line for line in lines if line not in calibrated]
        calibrated.update(line for line in lines if line.startswith("tisim calibrate "))
    return {name: commands for name, commands in found.items() if commands}


def check_options(words: list[str]) -> None:
    """Assert that the command and its options exist."""
    command: click.Command = group
    while words:
        found = command.further.get(words[0]) if isinstance(command, Branching) else None
        if isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words[0])
        if found is None:
            break
        command, words = found, words[1:]
    context = click.Context(command)
    command.make_parser(context).parse_args([*words])


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the samples, and with files named as the user's in the texts."""
    directory = tmp_path_factory.mktemp("workshop") / "samples"

    def tisim(line: str, name: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main([*line.split(), *(["-o"] if " " in line else []), str(directory / name)])
        assert ended.value.code == 0, line

    tisim("examples", "")
    hardware = "--speed 3.2Gf --bandwidth 1Gbps --latency 10us"
    tisim(f"platform new cluster --nodes 128 {hardware}", "p.xml")
    for name in ("cluster.xml", "calibrated.xml", "graphene.xml", "m.xml", "measured.xml"):
        shutil.copy(directory / "p.xml", directory / name)
    shutil.copy(directory / "p.hosts", directory / "hosts.txt")
    wavefront = "generate wavefront --ranks 8 --iterations 20 --planes 5 --compute 500Mf"
    tisim(wavefront, "program")
    tisim(wavefront, "lu.tit")
    hosts = (directory / "p.hosts").read_text().split()[:8]
    actors = [f'<actor host="{host}" function="{rank}"/>' for rank, host in enumerate(hosts)]
    head = '<?xml version="1.0"?><platform version="4.1">'
    (directory / "deployment.xml").write_text("\n".join([head, *actors, "</platform>"]))
    for names, ranks in {
        "a.16 lu.16": 16,
        "b.32 lu.32": 32,
        "c.64 lu.64": 64,
        "d.128": 128,
    }.items():
        for name in names.split():
            tisim(f"generate halo2d --ranks {ranks} --iterations 3", f"{name}.tit")
    tisim("platform new gpu-cluster --nodes 8 --gpu h100", "g.xml")
    shutil.copytree(directory / "traces" / "ring.4", directory / "old")
    shutil.copytree(directory / "traces" / "ring.4", directory / "parts")
    shutil.copy(
        directory / "examples" / "calibration" / "synthetic.csv", directory / "measured.csv"
    )
    (directory / "study.toml").write_text(STUDY)
    return directory


@pytest.mark.parametrize("name", documented())
def test_the_commands_run(
    name: str,
    workshop: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for path in workshop.iterdir():
        if path.is_dir():
            (tmp_path / path.name).symlink_to(path)
        else:
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    tisim = CommandLine(tmp_path, capsys)
    for line in documented()[name]:
        words = [STANDS_FOR.get(word, word) for word in shlex.split(line)[1:]]
        if any(re.match(f"tisim (?:{pattern})", line) for pattern in READ_ONLY):
            check_options(words)
            continue
        if "-o" in words:
            (tmp_path / words[words.index("-o") + 1]).unlink(missing_ok=True)
        if "*" in line:
            words = [at for word in words for at in sorted(map(str, Path().glob(word))) or [word]]
        run = tisim(*words)
        assert run.status == 0, f"{line}\n{run.err}"
