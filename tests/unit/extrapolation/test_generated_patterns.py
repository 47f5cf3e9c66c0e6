"""Generated patterns are extrapolated to what the generator writes there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tisim.errors import InputError
from tisim.traces import Trace
from tisim.traces.extrapolation import extrapolate
from tisim.traces.generate import PATTERNS
from tisim.traces.generate.patterns import ACCESSES
from tisim.traces.packed_program import PackedTrace


def generated(directory: Path, name: str, ranks: int, **parameters: Any) -> Path:
    path = directory / f"{name}.{ranks}.tit"
    PATTERNS[name](ranks=ranks, **parameters).write(path)
    return path


def assert_equal_lines(one: Path, other: Path) -> None:
    first, second = PackedTrace(one), PackedTrace(other)
    assert first.ranks == second.ranks
    for rank in range(first.ranks):
        assert list(first.lines(rank)) == list(second.lines(rank)), rank


@pytest.mark.parametrize(
    ("name", "sizes", "target", "parameters"),
    [
        ("ring", (4, 8, 16), 1024, {}),
        ("ring", (3, 5, 8), 512, {"allreduce": 8, "allreduce_every": 2}),
        ("halo2d", (16, 32, 64), 1024, {"iterations": 3}),
        ("halo2d", (16, 32, 64), 1024, {"iterations": 2, "periodic": True}),
        ("halo3d", (27, 64, 125), 512, {"iterations": 1, "allreduce": 8}),
        ("halo3d", (27, 64, 125), 512, {"periodic": True, "nbytes": (8, 16, 24)}),
        ("wavefront", (16, 32, 64), 512, {"iterations": 1, "planes": 3}),
        ("transpose", (4, 8, 16), 1024, {}),
        ("ring-allreduce", (4, 8, 16), 64, {"iterations": 2}),
        ("tree-allreduce", (8, 16, 32), 512, {"iterations": 2, "buckets": 2}),
    ],
)
def test_patterns_are_exact(
    tmp_path: Path, name: str, sizes: tuple[int, ...], target: int, parameters: dict[str, Any]
) -> None:
    traces = [generated(tmp_path, name, ranks, **parameters) for ranks in sizes]
    made = extrapolate(traces, target, tmp_path / "made.tit")
    assert made.ranks == target
    assert min(parameter.confirmed for parameter in made.parameters) >= 1
    assert_equal_lines(tmp_path / "made.tit", generated(tmp_path, name, target, **parameters))


@pytest.mark.parametrize("read_back", [False, True])
@pytest.mark.parametrize("access", ACCESSES)
def test_files_are_exact_at_64_times_the_ranks(
    tmp_path: Path, access: str, read_back: bool
) -> None:
    parameters = {"access": access, "read_back": read_back, "iterations": 2, "file": "ckpt"}
    traces = [generated(tmp_path, "io", ranks, **parameters) for ranks in (4, 8, 16)]
    extrapolate(traces, 1024, tmp_path / "made.tit")
    assert_equal_lines(tmp_path / "made.tit", generated(tmp_path, "io", 1024, **parameters))


@pytest.mark.parametrize(
    ("name", "sizes", "target", "parameters", "says"),
    [
        # Random partners follow no rule.
        ("sparse", (4, 5, 6), 256, {"degree": 1}, "which ranks"),
        # Always four wide: nobody knows whether it is at the target.
        ("halo3d", (16, 32, 64), 512, {"periodic": True}, "could be"),
        # No inner rank was seen.
        ("halo2d", (2, 4, 6), 64, {}, "no family explains|only the trace of 6 ranks"),
        ("ring", (4, 8), 64, {}, "of 3 numbers of ranks or more"),
        ("ring", (4, 8, 16), 0, {}, "a rank or more"),
    ],
)
def test_what_is_not_certain_is_refused(
    tmp_path: Path,
    name: str,
    sizes: tuple[int, ...],
    target: int,
    parameters: dict[str, Any],
    says: str,
) -> None:
    traces = [generated(tmp_path, name, ranks, **parameters) for ranks in sizes]
    with pytest.raises(InputError, match=says):
        extrapolate(traces, target, tmp_path / "made.tit")
    assert not (tmp_path / "made.tit").exists()


def test_a_process_grid_can_be_preferred(tmp_path: Path) -> None:
    # 4 x 2 x 2, 4 x 4 x 2 and 4 x 4 x 4: even, or always four wide.
    parameters = {"periodic": True}
    traces = [generated(tmp_path, "halo3d", ranks, **parameters) for ranks in (16, 32, 64)]
    made = tmp_path / "made.tit"
    even = "an even grid of 3 dimensions, the longest first"
    extrapolate(traces, 512, made, prefer=[even])
    assert_equal_lines(made, generated(tmp_path, "halo3d", 512, **parameters))


def test_volumes_that_vary_are_fitted(tmp_path: Path) -> None:
    noisy = {"iterations": 20, "noise": 0.1, "compute": 1e6}
    traces = [generated(tmp_path, "ring", ranks, **noisy) for ranks in (4, 8, 16)]
    made = extrapolate(traces, 64, tmp_path / "made.tit")
    assert [volume.fit.family for volume in made.volumes] == ["constant"]
    trace = PackedTrace(tmp_path / "made.tit")
    assert Trace.open(tmp_path / "made.tit").precision == "mean"
    lines = list(trace.lines(63))
    computed = [float(line.split()[-1]) for line in lines if b"compute" in line]
    assert len(computed) == 20
    assert computed[0] == pytest.approx(1e6, rel=0.05)
    assert lines[2] == b"63 irecv 62 0 1024"


def test_strong_scaling_is_fitted(tmp_path: Path) -> None:
    traces = []
    for ranks in (4, 8, 16):
        work = {"iterations": 20, "noise": 0.01, "compute": 64e6 / ranks}
        traces.append(generated(tmp_path, "ring", ranks, **work))
    made = extrapolate(traces, 64, tmp_path / "made.tit", scaling="strong")
    assert made.volumes[0].fit.value == pytest.approx(1e6, rel=0.05)
    assert made.volumes[0].fit.error < 0.05
    with pytest.raises(InputError, match="not as"):
        extrapolate(traces, 64, tmp_path / "made.tit", scaling="linear")
