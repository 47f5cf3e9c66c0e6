"""Extras that install missing libraries: a failed import names the extra."""

from __future__ import annotations

import sys

_EXTRAS = {
    "anywidget": "notebook",
    "distributed": "dask",
    "lxml": "calibrate",
    "matplotlib": "view",
    "networkx": "view",
    "otf2": "otf2",
    "pandas": "view",
    "pyarrow": "view",
    "scipy": "view",
    "starlette": "view",
    "uvicorn": "view",
    "zstandard": "zstd",
}


class MissingLibraries:
    """Last module finder: reports the extra of a missing library that a tisim module imports."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if (extra := _EXTRAS.get(name)) is None:
            return
        frame = sys._getframe(1)
        while frame.f_back and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        importer = str(frame.f_globals.get("__name__"))
        if importer.startswith("tisim."):  # other importers get the usual error
            extra = "calibrate" if "calibrat" in importer else extra
            raise ModuleNotFoundError(
                f"{name} is required but not installed: pip install 'tisim[{extra}]'",
                name=name,
            )


sys.meta_path.append(MissingLibraries)


def is_installed(name: str) -> bool:
    """True if a library is installed; does not load it."""
    try:
        check_installed(name)
    except ModuleNotFoundError:
        return False
    return True


def check_installed(*names: str) -> None:
    """Raise, before long work, if a library that its result needs is not installed."""
    from importlib.util import find_spec

    for name in names:
        find_spec(name)
