"""Sphinx configuration of the site that `make docs` builds in ``build/docs/html``.

The documents are Markdown that is also readable on a code host. Pages from outside ``docs/`` (files
in the repository's root, notebooks, the list of public names) are first written to
``docs/_generated/``; links between the documents are changed accordingly.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latex2mathml.converter import convert

import tisim

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
GENERATED = DOCS / "_generated"

project = "tisim"
author = "The tisim authors"
release = version = tisim.__version__
copyright = author

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_click",
]
exclude_patterns = ["**/.ipynb_checkpoints", "_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "docs" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
suppress_warnings = ["myst.header"]  # notebooks may begin with a second-level heading

autosummary_generate = True
autodoc_typehints = "none"  # they are in the signature, and descriptions come from numpydoc
numpydoc_show_class_members = False

templates_path = ["_templates"]
smartquotes = False  # options begin with two hyphens

html_theme = "pydata_sphinx_theme"
html_title = "tisim"
html_sidebars = {"index": [], "tutorial": [], "comparison": []}
html_static_path = ["_static"]
html_css_files = ["tisim.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

# ---------------------------------------------------------------------------------------
# Contents of docs/_generated/

#: Page of the site -> file of the repository, both without their directories.
FILES = {
    "architecture.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "sample_traces.md": "traces/README.md",
    "sample_platforms.md": "platforms/README.md",
    "sample_measurements.md": "examples/calibration/README.md",
    "golden_values.md": "tests/golden/README.md",
    "oracle.md": "tests/oracle/README.md",
}
NOTEBOOKS = "examples/notebooks"
#: Packages whose ``__all__`` is public, in the order of the reference.
PACKAGES = {
    "tisim": "The names that most programs need",
    "tisim.kernel": "Simulations with SimPy processes",
    "tisim.traces": "Traces: reading, checking, packing",
    "tisim.platform": "Platforms and deployments",
    "tisim.models": "Models of the SimPy kernel",
    "tisim.analysis.timeline": "Event logs and timelines",
    "tisim.analysis.pictures": "Pictures",
    "tisim.analysis.report": "The report",
    "tisim.studies.sweep": "Sweeps",
    "tisim.studies.calibration": "Calibration",
    "tisim.traces.generate": "Synthetic traces",
}


def write(path: Path, text: str) -> None:
    """Write a file if its text has changed; otherwise Sphinx would read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def page_of(file: Path) -> Path | None:
    """Return the page of the site that shows a file of the repository, or None."""
    for page, name in FILES.items():
        if file in (ROOT / name, (ROOT / name).parent) and file != ROOT:
            return GENERATED / page
    if file == ROOT / "README.md":
        return DOCS / "index.md"
    if file.suffix == ".ipynb":
        return GENERATED / "notebooks" / file.name
    return file if file.is_relative_to(DOCS) else None


def relinked(text: str, source: Path, target: Path) -> str:
    """Adapt a document's links to the site; links to files without a page become plain text."""

    def link(match: re.Match[str]) -> str:
        label, name, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", name):
            return match[0]
        page = page_of((source.parent / name).resolve())
        if page is None:
            return label if "`" in label else f"`{label}`" if "/" in label else label
        return f"[{label}]({os.path.relpath(page, target.parent)}{anchor})"

    return re.sub(r"(?<!!)\[([^]\n]*(?:\n[^]\n]*)?)\]\(([^)#\s]+)(#[^)\s]*)?\)", link, text)


def write_generated_pages() -> None:
    """Write all of docs/_generated/."""
    for page, name in FILES.items():
        write(GENERATED / page, relinked((ROOT / name).read_text(), ROOT / name, GENERATED / page))
    for notebook in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        target = GENERATED / "notebooks" / notebook.name
        content = json.loads(notebook.read_text())
        for cell in content["cells"]:
            text = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                text = relinked(text, notebook, target)
            else:

                def path(match: re.Match[str], near: Path = notebook, far: Path = target) -> str:
                    return f'"{os.path.relpath(near.parent / match[1], far.parent)}"'

                text = re.sub(r'"((?:\.\./)+[^"]*)"', path, text)
            cell["source"] = text.splitlines(keepends=True)
        write(target, json.dumps(content, indent=1) + "\n")
    shown: set[int] = set()
    parts = ["Python interface\n================\n"]
    for package, title in PACKAGES.items():
        module = importlib.import_module(package)
        public = {name: getattr(module, name) for name in module.__all__ if name != "__version__"}
        # A name exported by two packages has its page in the first.
        names = [name for name in public if id(public[name]) not in shown]
        shown |= {id(thing) for thing in public.values() if hasattr(thing, "__module__")}
        rows = "\n".join(f"   {package}.{name}" for name in names)
        parts.append(f"{title}\n{'-' * len(title)}\n\n``{package}``\n")
        parts.append(f".. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{rows}\n")
    write(GENERATED / "python.rst", "\n".join(parts))


write_generated_pages()

# ---------------------------------------------------------------------------------------
# Formulas as MathML, which browsers show without an external script


def formula(node: nodes.Node, display: str) -> str:
    """Return the MathML of a formula."""
    return convert(node.astext(), display=display)


def visit_inline(translator: Any, node: nodes.Node) -> None:
    """Write an inline formula."""
    from docutils.nodes import SkipNode

    translator.body.append(formula(node, "inline"))
    raise SkipNode


def visit_block(translator: Any, node: nodes.Node) -> None:
    """Write a display formula."""
    from docutils.nodes import SkipNode

    translator.body.append(f'<div class="formula">{formula(node, "block")}</div>\n')
    raise SkipNode


def relink_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Adapt links from a document in docs/ to files outside docs/."""
    file = Path(app.env.doc2path(name))
    if file.suffix == ".md" and not file.is_relative_to(GENERATED):
        source[0] = relinked(source[0], file, file)


def write_demo(app: Sphinx, error: Exception | None) -> None:
    """Write the viewer demo shown on the front page: a run with one late rank."""
    if error is not None or app.builder.format != "html":
        return
    from tisim.analysis.timeline.run_file import RunFile
    from tisim.analysis.viewer.folder import write_folder

    sys.path.insert(0, str(DOCS / "pictures"))
    from viewer_pictures import PLATFORM, delayed

    demo = Path(app.outdir) / "demo"
    shutil.rmtree(demo, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "lu.tir"
        tisim.replay(delayed(Path(name)), platform=PLATFORM, timeline=run)
        write_folder(RunFile(run), demo)


def setup(app: Sphinx) -> None:
    """Register the handlers of links and formulas, and the demo written at the end."""
    app.connect("source-read", relink_source)
    app.connect("build-finished", write_demo)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))


html_math_renderer = "mathml"
