"""The command line's view of a platform: ``tisim platform FILE``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from tisim.commands.written import report_written
from tisim.files import write_file
from tisim.platform.draw import draw
from tisim.platform.platform import Platform
from tisim.platform.report import describe, describe_route

_EXAMPLES = """\b
Examples:
  tisim platform platforms/graphene.xml
  tisim platform cluster.xml --route node-1 node-2
  tisim platform cluster.xml --draw cluster.svg
  tisim platform cluster.xml --json -
"""


@click.command("platform", epilog=_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--route", nargs=2, metavar="A B", help="Show the route from host A to host B.")
@click.option(
    "--draw",
    "drawing",
    type=click.Path(path_type=Path),
    metavar="FILE.svg",
    help="Draw it into an SVG file.",
)
@click.option(
    "--json", "as_json", metavar="FILE", help="Write the numbers as JSON; - is standard output."
)
def platform_command(
    file: Path, route: tuple[str, str] | None, drawing: Path | None, as_json: str | None
) -> None:
    """Describe a platform FILE: hosts, links, zones, distances, bandwidths."""
    platform = Platform.load(file)
    for warning in platform.warnings:
        click.echo(f"warning: {warning}", err=True)
    if drawing is not None:
        draw(platform, drawing)
        report_written(drawing)
    if route is not None:
        src, dst = (platform.host(name) for name in route)
        click.echo(describe_route(src, dst, platform.route(src, dst)))
    if as_json is not None:
        _write_json(platform, as_json)
    elif route is None and drawing is None:
        click.echo(describe(platform).text())


def _write_json(platform: Platform, path: str) -> None:
    text = json.dumps(asdict(describe(platform)), indent=2)
    if path == "-":
        click.echo(text)
        return
    write_file(path, text + "\n")
    report_written(path)
