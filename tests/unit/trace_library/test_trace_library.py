"""libtisim_trace, used by a program in C11 as a recorder uses it."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tisim import _core
from tisim.traces import unpack

LIBRARY = Path(_core.__file__).parent / "trace_library"
SOURCE = Path(__file__).parent / "recording_program.c"


def require(tool: str) -> str:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("library") / "program"
    options = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{LIBRARY}"]
    link = [f"-L{LIBRARY}", "-ltisim_trace", f"-Wl,-rpath,{LIBRARY}"]
    command = [require("gcc"), *options, str(SOURCE), "-o", str(program), *link]
    subprocess.run(command, check=True)
    return program


def run(program: Path, *arguments: object) -> str:
    command = [str(program), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_the_library_shows_its_own_functions_only() -> None:
    command = [require("nm"), "-D", "--defined-only", str(LIBRARY / "libtisim_trace.so")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[-1] for line in lines}
    assert "tt_rank_open" in names
    assert {name for name in names if not name.startswith("tt_")} == set()


def test_the_library_needs_no_run_time_library_of_cxx() -> None:
    command = [require("readelf"), "-d", str(LIBRARY / "libtisim_trace.so")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = [line for line in text.splitlines() if "NEEDED" in line]
    assert needed
    assert not [line for line in needed if "libstdc++" in line or "libgcc" in line]


def test_ranks_and_iterations_hardly_count(program: Path, tmp_path: Path) -> None:
    sizes = {}
    for ranks, iterations in [(4, 10), (4, 10_000), (256, 10)]:
        size, memory = map(int, run(program, "ring", tmp_path, ranks, iterations).split())
        sizes[ranks, iterations] = size
        assert memory <= 8 << 10
    assert sizes[4, 10_000] <= sizes[4, 10] + 16
    unpack(tmp_path / "ring.tit", tmp_path / "text")
    text = "# recorded by a test\n" + "".join(
        f"7 compute {1_000_000 + i % 3}\n7 send 8 0 4096\n7 recv 6 0 4096 # source=6\n"
        for i in range(10)
    )
    assert (tmp_path / "text" / "rank-7.txt").read_text() == text
    assert sizes[256, 10] <= sizes[4, 10] + 16


def test_a_random_program_stays_in_its_memory(program: Path, tmp_path: Path) -> None:
    grown = int(run(program, "random", tmp_path / "part", 1_000_000))
    assert 0 <= grown <= 2048
    assert int(run(program, "part", tmp_path / "part")) > 1_000_000


def test_a_killed_program_leaves_what_it_had_flushed(program: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    killed = subprocess.run([str(program), "killed", str(part)], check=False)
    assert killed.returncode == -signal.SIGKILL
    run(program, "part", part, tmp_path / "killed.tit")
    unpack(tmp_path / "killed.tit", tmp_path / "text")
    lines = (tmp_path / "text" / "rank-0.txt").read_text().splitlines()
    assert lines[0] == "# incomplete: ranks 0, 1"
    assert len(lines) == 1 + 3 * 100
    assert (tmp_path / "text" / "rank-1.txt").read_text() == ""


def test_mistakes_are_refused(program: Path) -> None:
    error = run(program, "mistakes").strip()
    assert error == "/dev/full cannot be written: No space left on device"
