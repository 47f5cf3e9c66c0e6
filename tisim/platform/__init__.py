"""Platform descriptions: hosts, links and the routes between them.

Names are loaded on first use, so that importing units alone loads none of the readers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.platform.builder import PlatformBuilder
    from tisim.platform.compiled import CompiledPlatform
    from tisim.platform.deployment import Deployment
    from tisim.platform.hosts import Host
    from tisim.platform.links import Link
    from tisim.platform.platform import Platform, Route

_HOME_OF = {
    "CompiledPlatform": "compiled",
    "Deployment": "deployment",
    "Host": "hosts",
    "Link": "links",
    "Platform": "platform",
    "PlatformBuilder": "builder",
    "Route": "platform",
}

__all__ = ["CompiledPlatform", "Deployment", "Host", "Link", "Platform", "PlatformBuilder", "Route"]


def __getattr__(name: str) -> object:
    if name == "new":
        return importlib.import_module("tisim.platform.new")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
