"""What is wrong with files in replays of MPI-IO: one message, with file, line, rank and date."""

from __future__ import annotations

import pytest

from tests.unit.io.conftest import Replay
from tisim.errors import InputError

OPEN = "file_open 0 /scratch/f rwc"


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("file_write_at 7 10 0", r"txt:4: file_write_at of handle 7, which no line has opened"),
        (
            f"{OPEN}; open 0 /scratch/g wc",
            r"txt:5: opens handle 0, which is open since line 4",
        ),
        ("open 1 f wc; close 1; close 1", r"txt:6: close of handle 1, which line 5 has closed"),
        ("open 1 f wc; write 1 9; pread 1 5 5", "without the flag r"),
        ("open 1 f rwc; write 1 9; pread 1 5 5", r"txt:6: reads 5 bytes .* which ends at 9"),
        ("file_open 1 /home/f wc", r"txt:4: no disk of host 'a' holds '/home/f'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(replay: Replay, second: str, message: str) -> None:
    first = OPEN if second.startswith("file_open 0") or "file_open" in second else "sleep 0"
    with pytest.raises(InputError, match=message):
        replay(f"{first}; sleep 0; sleep 0", second)
