"""The public names of tisim and their parameters: ``python -m tests.unit.project.public_names``.

Writes them to ``public_names.txt``, with which a test compares them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

STORED = Path(__file__).with_suffix(".txt")
STABLE = ("tisim", "tisim.kernel", "tisim.traces", "tisim.platform", "tisim.models")
#: May change in a minor version, documented in the changelog.
DOCUMENTED = (
    *("tisim.config", "tisim.gpu", "tisim.platform.new"),
    *("tisim.traces.extrapolation", "tisim.traces.generate", "tisim.traces.importers"),
    *(f"tisim.analysis.{name}" for name in ("compare", "pictures", "report", "timeline", "viewer")),
    "tisim.analysis.timeline.run_file",
    *(f"tisim.studies.{name}" for name in ("calibration", "execute", "sweep")),
    *("tisim.studies.uncertainty", "tisim.studies.validation"),
)


def with_parameters(name: str, thing: object) -> Iterator[str]:
    """Yield a name, and a line for each of its parameters: ``name parameter=default``."""
    yield name
    try:
        signature = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # not a function, or one of the core
        return
    for parameter in signature.parameters.values():
        keyword = ", by keyword" if parameter.kind is parameter.KEYWORD_ONLY else ""
        shown = re.sub(r" at 0x\w+", "", str(parameter.replace(annotation=parameter.empty)))
        yield f"{name} {shown}{keyword}"


def public_names() -> Iterator[str]:
    """Yield the names in ``__all__`` of the public packages, and the attributes of classes."""
    for package in STABLE + DOCUMENTED:
        module = importlib.import_module(package)
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            yield from with_parameters(f"{package}.{name}", thing)
            if not inspect.isclass(thing) or not thing.__module__.startswith("tisim."):
                continue
            for member in sorted(set(dir(thing)) - set(dir(Exception))):
                if not member.startswith("_"):
                    value = inspect.getattr_static(thing, member)
                    value = getattr(value, "__func__", value)
                    yield from with_parameters(f"{package}.{name}.{member}", value)


if __name__ == "__main__":
    STORED.write_text("".join(f"{line}\n" for line in public_names()))
