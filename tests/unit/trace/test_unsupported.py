"""A recorded trace of calls that cannot be expressed is refused, or replayed without them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tisim.actions.registry import ignoring_unsupported

BACKBONE = Path(__file__).resolve().parents[3] / "platforms" / "backbone.xml"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "trace.txt"
    file.write_text("0 unsupported MPI_Put 12\n0 init\n0 compute 1e9\n0 finalize\n")
    return file


def test_it_is_refused(trace: Path) -> None:
    with pytest.raises(tisim.InputError, match=r"called MPI_Put 12 times.*--ignore-unsupported"):
        tisim.replay(trace, platform=BACKBONE)


def test_it_is_replayed_on_request(trace: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("0 init\n0 compute 1e9\n0 finalize\n")
    expected = tisim.replay(plain, platform=BACKBONE).simulated_time
    registry = tisim.Registry()
    result = tisim.replay(trace, platform=BACKBONE, registry=ignoring_unsupported(registry))
    assert result.simulated_time == expected
    assert "unsupported" not in registry.actions
