"""Sets [project.urls] from the forge's address: `forge` in pyproject.toml, or $TISIM_FORGE."""

from __future__ import annotations

import os
from collections.abc import Mapping

__all__ = ["dynamic_metadata"]


def dynamic_metadata(field: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Provide the dynamic metadata that scikit-build-core requests during a build."""
    assert field == "urls"
    forge = os.environ.get("TISIM_FORGE", settings["forge"])
    pages = {"Repository": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md"}
    return {name: forge + page for name, page in pages.items()} if forge else {}
