"""Kills tisim at random moments (SIGKILL): the old file is intact, or the new one is whole."""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.torture.campaign import import_everything, what_is_cut
from tests.torture.mutations import write_inputs

_OLD = b"what an earlier run has left"


def start(words: list[str], room: Path, variables: dict[str, str]) -> int:
    """Start a command in a forked process with all modules loaded, in its own session."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        os.environ.update(variables)
        log = os.open(room / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.argv = ["tisim", *words]
        from tisim.__main__ import main

        main()
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    finally:
        os._exit(99)


def killed(words: list[str], room: Path, seconds: float, variables: dict[str, str]) -> bool:
    """Run a command and kill its session after `seconds`; return False if it had already ended."""
    child = start(words, room, variables)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def duration(words: list[str], room: Path, variables: dict[str, str]) -> float:
    """Return the seconds that a command takes without being killed."""
    begin = time.monotonic()
    _, status = os.waitpid(start(words, room, variables), 0)
    assert status == 0, (words, (room / "log").read_text())
    return time.monotonic() - begin


class Kills:
    """A campaign in its own directory."""

    def __init__(self, room: Path, seed: int, program: Path | None, variables: dict[str, str]):
        self._room = room
        self._random = Random(seed)
        self._variables = variables
        sound = room / "sound"
        sound.mkdir()
        import_everything()
        write_inputs(sound)
        self._sweep = ["sweep", str(sound / "study.toml"), "--workers"]
        platform = ["--platform", str(sound / "backbone.xml")]
        self._commands = {
            name: ["replay", *platform, option, str(room / name), str(sound / "ring.tit")]
            for name, option in (
                ("o.tir", "--timeline"),
                ("o.csv", "--timeline"),
                ("o.html", "--report"),
                ("o.json", "--json"),
            )
        }
        if program is not None:
            launched = ["mpirun", "-n", "2", str(program)]
            self._commands["o.tit"] = ["record", "-o", str(room / "o.tit"), "--", *launched]
        self._seconds: dict[str, float] = {}

    def run(self, kills: int) -> list[str]:
        """Kill `kills` running commands; return a description of each failure."""
        wrong: list[str] = []
        names = [*self._commands, "rows.csv", "rows.parquet"]
        done = 0
        while done < kills:
            name = names[done % len(names)]
            rule: Callable[[str], str | None] = self._file if name in self._commands else self._rows
            found = rule(name)
            if found is not None:
                done += 1
                if found:
                    wrong.append(f"{name}: {found}")
        return wrong

    def _moment(self, name: str, words: list[str]) -> float:
        if name not in self._seconds:
            duration(words, self._room, self._variables)  # the first run compiles the recorder
            self._seconds[name] = duration(words, self._room, self._variables)
        return self._random.random() * self._seconds[name]

    def _file(self, name: str) -> str | None:
        path, words = self._room / name, self._commands[name]
        moment = self._moment(name, words)
        path.write_bytes(_OLD)
        if not killed(words, self._room, moment, self._variables):
            return None
        content = path.read_bytes() if path.exists() else b""
        self._remove_hidden()
        for parts in self._room.glob(f"{name}.parts-*"):
            shutil.rmtree(parts)
        return "" if content == _OLD else what_is_cut(path, content)

    def _rows(self, name: str) -> str | None:
        """Kill a sweep and resume it; finished scenarios must not run again."""
        path = self._room / name
        words = [*self._sweep, self._random.choice("12"), "-o", str(path)]
        moment = self._moment(name, words)
        path.unlink(missing_ok=True)
        if not killed(words, self._room, moment, self._variables):
            return None
        before = _rows(path)
        self._remove_hidden()
        duration(words, self._room, self._variables)
        after = _rows(path)
        again = [key for key, row in before.items() if after.get(key) != row]
        return f"{len(again)} rows were lost" if again or len(after) != _SCENARIOS else ""

    def _remove_hidden(self) -> None:
        """Remove the hidden files that were being written."""
        for path in self._room.glob(".*"):
            path.unlink()


_SCENARIOS = 8


def _rows(path: Path) -> dict[str, object]:
    if not path.exists():
        return {}
    if path.suffix == ".csv":
        text = path.read_text()
        assert text.endswith("\n") or not text, "half a line"
        return {row["key"]: row for row in csv.DictReader(text.splitlines())}
    import pandas as pd

    frame = pd.read_parquet(path).astype(str)
    return {row["key"]: row for row in frame.to_dict("records")}


def main() -> None:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    from tests.unit.record.programs import ENVIRONMENT, Recorder, libraries

    with tempfile.TemporaryDirectory(prefix="tisim-kills-") as name:
        room = Path(name)
        found = libraries()
        barrier = "MPI_Barrier(MPI_COMM_WORLD);"
        program = Recorder(found[0], room).compile(barrier) if found else None
        variables = dict(ENVIRONMENT)
        wrong = Kills(room, chosen.seed, program, variables).run(chosen.kills)
    print(*wrong, f"{chosen.kills} kills from {chosen.seed}: {len(wrong)} went wrong", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
