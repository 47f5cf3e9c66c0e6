"""Call every function of the bindings with wrong arguments; run as a separate process.

The process exits with status 0 unless a call crashes it. The functions and their parameters are
read from the stubs, so that new functions are called, too.
"""

from __future__ import annotations

import ast
import itertools
import os
import random
import resource
import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tisim
from tests.support import BACKBONE
from tisim import _core
from tisim.simulation.settings import Settings
from tisim.traces import Trace

INTEGERS = [-(2**31), -7, -1, 0, 3, 99, 1_000_003, 2**40]
NUMBERS = [float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1.5, 1e300]
outcomes = {"returned": 0, "raised": 0}

MOST_CALLS = 150  # per function and state
MEMORY = 4 * 2**30  # bytes: larger requests raise MemoryError


def main(seed: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    draw = random.Random(seed)
    stubs = ast.parse(Path(tisim.__file__).with_name("_core.pyi").read_text())
    for node in stubs.body:
        if isinstance(node, ast.FunctionDef):
            call_with_wrong_arguments(lambda name=node.name: getattr(_core, name), node, draw)
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    call_method(node.name, method, draw)
    print(outcomes["returned"], outcomes["raised"])


def call_method(owner: str, method: ast.FunctionDef, draw: random.Random) -> None:
    if owner == "Simulation" and method.name != "__init__":
        for make in states():
            call_with_wrong_arguments(lambda m=make: getattr(m(), method.name), method, draw)
    elif method.name == "__init__":
        call_with_wrong_arguments(lambda: getattr(_core, owner), method, draw)


def call_with_wrong_arguments(
    target: Callable[[], Any], function: ast.FunctionDef, draw: random.Random
) -> None:
    parameters = [a for a in function.args.posonlyargs + function.args.args if a.arg != "self"]
    named = function.args.kwonlyargs
    choices = [
        values(a.arg, ast.unparse(a.annotation or ast.Constant(None))) for a in parameters + named
    ]
    calls = list(itertools.islice(itertools.product(*choices), 20000))
    for arguments in draw.sample(calls, min(MOST_CALLS, len(calls))):
        plain, keywords = arguments[: len(parameters)], arguments[len(parameters) :]
        try:
            target()(*plain, **dict(zip((a.arg for a in named), keywords, strict=True)))
        except Exception:
            outcomes["raised"] += 1
        else:
            outcomes["returned"] += 1


def values(name: str, annotation: str) -> list[Any]:
    """Return arguments for a parameter, most of them wrong."""
    if annotation.startswith("Sequence[int]"):
        return [[], [99], [-1, 2], [0, 0]]
    if annotation.startswith("Sequence[float]"):
        return [[], [float("nan")], [-1.0, 1e300]]
    if annotation.startswith("array."):
        codes = {"array.array[float]": "d", "offset": "q", "fatpipe": "B"}
        code = codes.get(name) or codes.get(annotation, "i")
        return [array(code), array(code, [0, 9]), array(code, [0, 1, 200])]
    if "NDArray" in annotation or "ndarray" in annotation:
        import numpy as np

        kind = np.dtype(next(k for k in ("int32", "int64", "uint8", "float64") if k in annotation))
        return [np.zeros(0, kind), np.full(2, 99, kind), np.array([0, 200], kind)]
    for plain, drawn in (("bool", [True, False]), ("int", INTEGERS), ("float", NUMBERS)):
        if annotation == plain:
            return list(drawn)
    if annotation == "str":
        return ["", "nonsense", "bcast"]
    if annotation in ("Kind", "Quantity", "Operation", "Stage", "Dialect"):
        return list(getattr(_core, annotation).__members__.values())
    if annotation == "Model":
        return [settings().model]
    if annotation == "PlatformData":
        return [settings().data]
    if annotation.startswith("TraceSet"):
        return [None, readable()]
    return [None, -1, "nonsense"]


def settings() -> Settings:
    return Settings(tisim.Platform.load(BACKBONE))


def readable() -> _core.TraceSet:
    options = {"mistaken_null_is_any": True, "custom_actions": ("work",), "speedups": {}}
    core: _core.TraceSet = Trace.open(Path("trace")).core_with(**options)
    return core


def states() -> Iterator[Callable[[], _core.Simulation]]:
    """Yield functions that create a simulation in different states."""
    known = settings()

    def empty() -> _core.Simulation:
        return _core.Simulation(known.model, known.data)

    def driven() -> _core.Simulation:
        core = empty()
        core.add_job(None, [0, 1], [])
        return core

    def stopped(stop: _core.Stop) -> _core.Simulation:
        core = empty()
        core.add_job(readable(), [0, 1], [])
        reached = core.run(float("inf"), 1.0)
        assert reached == stop, reached
        return core

    yield empty
    yield driven
    for lines, stop in (
        ("work 1", _core.Stop.NEED_ACTION),
        ("bcast 8", _core.Stop.NEED_SCHEDULE),
        ("recv 0 0 8", _core.Stop.DEADLOCK),
    ):
        for rank in range(2):
            Path("trace", f"r{rank}").write_text(f"{rank} {lines}\n")
        yield lambda s=stop: stopped(s)


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    Path("trace").mkdir()
    for number in range(2):
        Path("trace", f"r{number}").write_text(f"{number} init\n")
    main(int(sys.argv[1]))
