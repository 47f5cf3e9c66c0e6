"""Studies in TOML, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.studies.validation import Thresholds, load_study

CASE = '[[case]]\nname = "ring"\ntrace = "ring.txt"\nplatform = "p.xml"\n'


def study(directory: Path, text: str) -> Path:
    path = directory / "study.toml"
    path.write_text(text)
    return path


def test_everything_that_a_study_may_say(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("case,seconds\nring,0.5\nring,0.6\n")
    path = study(
        tmp_path,
        'real_times = "runs.csv"\nnoisy = 0.2\nlarge = 0.5\n'
        '[defaults]\nrepeat = 3\ncommand = ["mpirun", "--host", "a,b"]\n'
        'config = {"smpi/os" = "0"}\n'
        "[thresholds]\nmedian = 0.1\n[thresholds.rings]\nworst = 1\n"
        f'{CASE}group = "rings"\nseeds = 4\nspeed = 2e9\n'
        f'{CASE.replace("ring", "other")}hosts = ["b", "a"]\nreal = [1.0]\n',
    )
    found = load_study(path)
    ring, other = found.cases
    assert (ring.trace, ring.platform) == (tmp_path / "ring.txt", tmp_path / "p.xml")
    assert (ring.group, ring.repeat, ring.seeds, ring.speed) == ("rings", 3, 4, 2e9)
    assert ring.command == ("mpirun", "--host", "a,b")
    assert ring.config == {"smpi/os": "0"}
    assert ring.real == (0.5, 0.6)
    assert (other.group, other.hosts, other.real) == ("all", ("b", "a"), (1.0,))
    assert (found.noisy, found.large) == (0.2, 0.5)
    assert found.thresholds == {"": Thresholds(median=0.1), "rings": Thresholds(worst=1)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no case; a case begins with"),
        ("case = 3", "has no case; a case begins with"),
        ("cases = 3", "the study has no key 'cases'; did you mean case?"),
        ("a b", "is no TOML: "),
        (f"{CASE}tracer = 1", "the case 'ring' has no key 'tracer'; did you mean trace?"),
        (CASE.replace("trace", "group"), "the case 'ring' has no trace"),
        (f'{CASE}repeat = "3"', "the case 'ring': repeat must be a whole number, not '3'"),
        (f"{CASE}repeat = true", "the case 'ring': repeat must be a whole number, not True"),
        (f"{CASE}real = [0]", "real times are positive numbers"),
        (f"{CASE}seeds = 0", "seeds must be at least 1"),
        (CASE * 2, "has two cases called 'ring'"),
        (f'real_times = "no.csv"\n{CASE}', "no.csv: No such file"),
        (f'real_times = "bad.csv"\n{CASE}', "bad.csv:2: a time in seconds is expected"),
        (f'real_times = "other.csv"\n{CASE}', "has times of 'halo', which is no case"),
        (f"noisy = -1\n{CASE}", "noisy must be a part such as 0.1, not -1"),
        (f"[thresholds.halo]\nmean = 1\n{CASE}", "thresholds for 'halo', which is the group of no"),
        (f"[thresholds]\naverage = 1\n{CASE}", "thresholds has no key 'average'"),
    ],
)
def test_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("case,seconds\nring,fast\n")
    (tmp_path / "other.csv").write_text("case,seconds\nhalo,1\n")
    with pytest.raises(InputError) as caught:
        load_study(study(tmp_path, text))
    assert message in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_study(tmp_path / "none.toml")
