"""The modules of pages: those that the report and the viewer share, and scripts made of modules.

A server sends the modules of its page one by one. A page that is one file has them in one script,
each as a function of its own.
"""

from __future__ import annotations

import re
from importlib import resources

# Import statements and exports, as modules of pages have them: at the beginning of a line.
_IMPORT = re.compile(r'^import \{ ([^}]+) \} from "\./([\w-]+\.js)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.M)
_LEFT_OVER = re.compile(r"^(?:import|export)\b.*", re.M)


def shared_files() -> dict[str, str]:
    """The modules and the style that the pages of the report and the viewer share, by name."""
    folder = resources.files("tisim.analysis.viz") / "page" / "shared"
    return {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir()}


def page_file(name: str) -> str:
    """A file that pages are made of, their own or a shared one."""
    folder = resources.files("tisim.analysis.viz") / "page"
    return (folder / name).read_text(encoding="utf-8")


def page_style(*names: str) -> str:
    """The style of a page: the theme, which all pages share, and files of its own."""
    return page_file("shared/theme.css") + "".join(map(page_file, names))


def page_script(main: str) -> str:
    """One script that does what a module and those that it imports do.

    Parameters
    ----------
    main
        The module that the page begins with.

    Raises
    ------
    ValueError
        When a module imports or exports something in a form that is not understood.
    """
    shared = shared_files()
    made: dict[str, str] = {}

    def add(name: str) -> None:
        if name in made:
            return
        text = shared[name] if name in shared else page_file(name)
        made[name] = ""  # so that a circle of imports ends
        for _, other in _IMPORT.findall(text):
            add(other)
        del made[name]
        made[name] = _as_function(name, text)

    add(main)
    return '"use strict";\nconst modules = {};\n' + "\n".join(made.values())


def _as_function(name: str, text: str) -> str:
    """A module as a function that takes what it imports and leaves what it exports."""
    exported = ", ".join(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(_taken, text))
    rest = _LEFT_OVER.search(body)
    if rest is not None:
        raise ValueError(f"{name}: {rest[0]!r} is no import or export that pages may have")
    return f'modules["{name}"] = (() => {{\n{body}return {{ {exported} }};\n}})();\n'


def _taken(found: re.Match[str]) -> str:
    names = found[1].replace(" as ", ": ")
    return f'const {{ {names} }} = modules["{found[2]}"];\n'
