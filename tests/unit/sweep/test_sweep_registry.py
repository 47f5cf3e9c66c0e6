"""Sweeps whose actions and algorithms are those of a registry of their own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.unit.sweep.samples import GRAPHENE, RING, same, write_trace
from tisim.errors import InputError
from tisim.studies.sweep.plan import registry_digest

VARY = {"latency": ["x1", "x2", "x3"]}
NAPS = """
def nap(rank, seconds):
    yield rank.env.timeout(float(seconds))

def slow_nap(rank, seconds):
    yield rank.env.timeout(2 * float(seconds))

def silent(s):
    "A barrier that waits for nobody."
"""


@pytest.fixture
def naps(make_module: Callable[..., str]) -> Any:
    return importlib.import_module(make_module("registered_naps", NAPS))


def with_nap(function: Any) -> tisim.Registry:
    registry = tisim.Registry()
    registry.action("nap")(function)
    return registry


def local_nap() -> Any:
    def nap(rank: Any, seconds: str) -> Generator[Any, Any, None]:
        yield rank.env.timeout(float(seconds))

    return nap


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_use_the_registry(workers: int, naps: Any, tmp_path: Path) -> None:
    registry = with_nap(naps.nap)
    registry.collective("barrier", "silent")(naps.silent)
    trace = write_trace(tmp_path, "0 nap 0.5\n0 barrier\n")
    arguments: dict[str, Any] = {
        "platform": GRAPHENE,
        "vary": {"smpi/barrier": ["silent", "mpich"]},
        "workers": workers,
    }
    frame = tisim.sweep(trace, **arguments, registry=registry)
    assert frame["error"].isna().all()
    assert (frame["simulated_time"] >= 0.5).all()
    assert dict(tisim.default_registry.actions) == {}
    assert tisim.sweep(trace, **arguments)["error"].notna().all()


def test_keys_depend_on_names_and_functions(
    naps: Any, tmp_path: Path, make_module: Callable[..., str]
) -> None:
    trace = write_trace(tmp_path, "0 nap 0.5\n")
    frames = [
        tisim.sweep(trace, platform=GRAPHENE, vary=VARY, workers=1, registry=with_nap(function))
        for function in (naps.nap, naps.slow_nap, naps.nap)
    ]
    assert list(frames[1]["simulated_time"] - frames[0]["simulated_time"]) == [0.5] * 3
    assert not set(frames[0]["key"]) & set(frames[1]["key"])
    assert same(frames[0], frames[2])
    # The file of the functions counts too.
    make_module("registered_naps", NAPS + "\nWHAT = 1\n")
    again = tisim.sweep(trace, platform=GRAPHENE, vary=VARY, workers=1, registry=with_nap(naps.nap))
    assert not set(frames[0]["key"]) & set(again["key"])


def test_an_output_file_is_not_resumed_with_another_registry(naps: Any, tmp_path: Path) -> None:
    trace = write_trace(tmp_path, "0 nap 0.5\n")
    for function, seconds in ((naps.nap, 0.5), (naps.slow_nap, 1.0)):
        frame = tisim.sweep(
            trace,
            platform=GRAPHENE,
            workers=1,
            registry=with_nap(function),
            output=tmp_path / "rows.csv",
        )
        assert list(frame["simulated_time"]) == [seconds]


def test_the_default_registry_does_not_matter_beside_another(naps: Any) -> None:
    plain = tisim.sweep(RING, platform=GRAPHENE, vary=VARY, workers=1, registry=tisim.Registry())
    tisim.action("nap")(local_nap())
    frame = tisim.sweep(RING, platform=GRAPHENE, vary=VARY, workers=2, registry=tisim.Registry())
    assert same(frame, plain)


def test_functions_that_workers_cannot_import(
    tmp_path: Path, naps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write_trace(tmp_path, "0 nap 0.5\n")
    arguments: dict[str, Any] = {"platform": GRAPHENE, "vary": VARY}
    registry = with_nap(local_nap())
    with pytest.raises(InputError, match=r"local.* at the top level of a module, or use workers=1"):
        tisim.sweep(trace, **arguments, registry=registry, workers=2)
    assert tisim.sweep(trace, **arguments, registry=registry)["error"].isna().all()
    monkeypatch.setattr(naps.nap, "__module__", "__main__")
    with pytest.raises(InputError, match="put them into a module and import it, or use workers=1"):
        tisim.sweep(trace, **arguments, registry=with_nap(naps.nap), workers=2)
    assert tisim.sweep(trace, **arguments, registry=with_nap(naps.nap))["error"].isna().all()


def test_functions_of_a_script_count_with_their_source(
    naps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naps.nap, "__module__", "__main__")
    before = registry_digest(with_nap(naps.nap))
    assert registry_digest(with_nap(naps.nap)) == before
    monkeypatch.setattr(naps.slow_nap, "__module__", "__main__")
    monkeypatch.setattr(naps.slow_nap, "__qualname__", naps.nap.__qualname__)
    assert registry_digest(with_nap(naps.slow_nap)) != before
