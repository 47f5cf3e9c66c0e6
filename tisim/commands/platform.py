"""``tisim platform FILE`` describes a platform, ``tisim platform new`` makes one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.commands.written import report_written
from tisim.errors import InputError
from tisim.platform.platform import Platform
from tisim.platform.report import describe, describe_route
from tisim.support.files import write_file

if TYPE_CHECKING:
    from tisim.platform.drawing import RunLoad

_EXAMPLES = """\b
Examples:
  tisim platform platforms/graphene.xml
  tisim platform cluster.xml --route node-1 node-2
  tisim platform cluster.xml --draw cluster.svg
  tisim replay --platform cluster.xml --breakdown --json run.json traces/
  tisim platform cluster.xml --draw load.svg --load run.json   # which links are busy?
  tisim platform cluster.xml --json -
  tisim platform new fat-tree --nodes 4096 --bandwidth 200Gbps --latency 1us --speed 3.2Gf -o f.xml
"""


class _Platform(click.Command):
    """The description of a file, unless the first word is ``new``."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        if args[:1] == ["new"]:
            from tisim.commands.new_platform import new_command

            words = f"{info_name or 'platform'} new"
            return new_command.make_context(words, args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("platform", cls=_Platform, epilog=_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--route", nargs=2, metavar="A B", help="Show the route from host A to host B.")
@click.option(
    "--draw",
    "drawing",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw it, as .svg or .png: fat trees by level, tori as grids, dragonflies as groups. "
    "Where there are too many hosts to see, several become a box.",
)
@click.option(
    "--load",
    "load_file",
    metavar="RUN.json",
    help="With --draw: colour links by their mean load in a run, and show the ranks on hosts; "
    "'tisim replay --breakdown --json RUN.json' writes it.",
)
@click.option(
    "--json", "as_json", metavar="FILE", help="Write the numbers as JSON; - is standard output."
)
def platform_command(
    file: Path,
    route: tuple[str, str] | None,
    drawing: Path | None,
    load_file: str | None,
    as_json: str | None,
) -> None:
    """Describe a platform FILE: hosts, links, zones, distances, bandwidths.

    'tisim platform new --help' says how to make one. A file called new is ./new.
    """
    if load_file is not None and drawing is None:
        raise InputError("--load colours a drawing: give --draw FILE too")
    platform = Platform.load(file)
    for warning in platform.warnings:
        click.echo(f"warning: {warning}", err=True)
    if drawing is not None:
        from tisim.platform.drawing import check_drawing, draw

        check_drawing(drawing)
        draw(platform, drawing, None if load_file is None else _read_load(platform, load_file))
        report_written(drawing)
    if route is not None:
        src, dst = (platform.host(name) for name in route)
        click.echo(describe_route(src, dst, platform.route(src, dst)))
    if as_json is not None:
        _write_json(platform, as_json)
    elif route is None and drawing is None:
        click.echo(describe(platform).text())


def _read_load(platform: Platform, path: str) -> RunLoad:
    """The load of links, and the hosts of ranks, of a result with a breakdown."""
    from tisim.analysis.result_json import read_file
    from tisim.platform.drawing import RunLoad

    result = read_file(path)
    breakdown = result.get("breakdown")
    if breakdown is None or "links" not in breakdown:
        raise InputError(
            "has no load of links; write one with: tisim replay --breakdown --json FILE ...",
            file=path,
        )
    try:
        links = [(str(row["link"]), float(row["mean"])) for row in breakdown["links"]]
    except (TypeError, KeyError, ValueError):
        raise InputError(
            "its load of links is not what tisim replay --breakdown --json writes", file=path
        ) from None
    return RunLoad(platform, links, [row["host"] for row in result["ranks"]], path)


def _write_json(platform: Platform, path: str) -> None:
    text = json.dumps(asdict(describe(platform)), indent=2)
    if path == "-":
        click.echo(text)
        return
    write_file(path, text + "\n")
    report_written(path)
