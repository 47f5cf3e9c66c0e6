"""Dimemas's .dim, written here line by line from the description of its records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

TRACE = """\
#DIMEMAS:"run.dim":1,000000000000000123:2(1,1),1
d:1:1:2:0:1
1:0:0:0.000001
2:0:0:1:8:3:1:0
2:0:0:1:16:4:1:2
20:0:0:50100001:4
10:0:0:1:1:1:0:0:4
10:0:0:3:1:0:0:10:30
10:0:0:0:1:0:0:0:0
1:1:0:0.0000025
3:1:0:0:16:4:1:1
3:1:0:0:8:3:1:0
3:1:0:0:16:4:1:2
10:1:0:1:1:1:0:4:0
10:1:0:3:1:0:0:20:0
10:1:0:0:1:0:0:0:0
s:0:50
"""


def imported(directory: Path, text: str | bytes) -> tuple[list[list[str]], Conversion]:
    """The lines of both ranks without init and finalize."""
    file = directory / "run.dim"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    made = convert(file, directory / "trace", speed=1e9)
    kept = []
    for rank in range(made.ranks):
        lines = (directory / "trace" / f"rank-{rank}.txt").read_text().splitlines()
        kept.append([line.split(" ", 1)[1] for line in lines[1:-1]])
    return kept, made


# The newer form names threads of peers.
@pytest.mark.parametrize("thread", ["", ":0"])
def test_records_become_calls(tmp_path: Path, thread: str) -> None:
    text = TRACE
    for peer in (":0:0:1:", ":1:0:0:"):
        for kind in "23":
            text = text.replace(f"\n{kind}{peer}", f"\n{kind}{peer[:-1]}{thread}:")
    kept, made = imported(tmp_path, text)
    assert kept[0] == [
        "compute 1000",
        "send 1 3 8",
        "isend 1 4 16 request=0",
        "bcast 4 1",
        "gatherv 10 10 20 0",
        "barrier",
        "wait request=0",
    ]
    assert kept[1] == [
        "compute 2500",
        "irecv 0 4 16 request=0",
        "recv 0 3 8",
        "wait request=0",
        "bcast 4 1",
        "gatherv 20 10 20 0",
        "barrier",
    ]
    [note] = made.notes
    assert "immediate send, for which the format has no wait" in note.text
    assert (note.count, note.first) == (1, "task 0, line 5")
    assert check(tmp_path / "trace").errors == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2(1,1),1", "3(1,1),1", "run.dim:1: has no header as Dimemas's traces have"),
        ("d:1:1:2:0:1", "d:1:1:2:0:2", "run.dim:2: 'd:1:1:2:0:2' is not a record of Dimemas's"),
        ("1:0:0:0.000001", "1:7:0:0.000001", "run.dim:3: '1:7:0:0.000001' is not a record"),
        ("2:0:0:1:8:3:1:0", "2:0:0:1:8", "run.dim:4: a record of kind 2 has other fields"),
        ("10:0:0:1:1:", "10:0:0:99:1:", "run.dim:7: '10:0:0:99:1:1:0:0:4' is not a record"),
        ("10:0:0:1:1:", "10:0:0:1:5:", "run.dim:7: the communicator 5 is not defined"),
    ],
)
def test_bad_traces_end_with_one_message(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        imported(tmp_path, TRACE.replace(old, new, 1))
    assert message in str(error.value)
    assert not (tmp_path / "trace").exists()
