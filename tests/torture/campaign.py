"""A campaign of random hostile calls: ``python -m tests.torture.campaign --cases 10000``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import tisim
from tests.torture.case import Case, draw_case
from tests.torture.inputs import write_inputs
from tests.torture.run import run_case

_SHOWN = 200


def import_everything() -> None:
    """Load what commands use, so that the processes of the cases need not."""
    # An editable install has the folder above the checkout in tisim.__path__, too.
    root = str(Path(tisim.__file__).parent)
    for module in pkgutil.walk_packages([root], "tisim."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue


def campaign(cases: int, seed: int, room: Path, keep: Path | None = None) -> list[str]:
    """Run so many cases and say what is wrong, one text a case."""
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
    """Run a campaign; the files of what goes wrong stay in a directory."""
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
