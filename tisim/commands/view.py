"""``tisim view``."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

import click

from tisim.commands import named_hosts
from tisim.errors import InputError
from tisim.support.progress import ProgressBar
from tisim.support.quantities import format_bytes


@click.command(
    "view",
    epilog="""\b
Examples:
  tisim replay --platform p.xml --timeline run.tir traces/ && tisim view run.tir
  tisim view --platform p.xml traces/          # replays first
  tisim view real.tir predicted.tir            # two runs of one program, aligned by their calls
  tisim view --platform p.xml traces/ real.tir # a prediction next to a real run
  tisim view --browser run.tir                 # also opens a browser
  tisim view --static lu-run/ run.tir          # a folder for a web server
""",
)
@click.option(
    "--platform", "platform_file", metavar="FILE", help="Replay the trace RUN on this platform."
)
@click.option(
    "--hosts",
    metavar="FILE|A,B,...",
    help="Hosts to place ranks on round-robin: a file with one host per line, or names; needs "
    "--platform.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Port on 127.0.0.1; by default any free port.",
)
@click.option("--browser", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--notebook",
    is_flag=True,
    help="Allow notebooks on this machine to embed the page in a frame. Inside a notebook, "
    "tisim.analysis.viewer.NotebookView('run.tir') shows the run as a widget, wherever "
    "the kernel runs.",
)
@click.option(
    "--static",
    "folder",
    metavar="DIR",
    help="Write the page, without search, into a new directory that any web server can serve, and "
    "exit.",
)
@click.argument("run", metavar="RUN")
@click.argument("other", metavar="[RUN2]", required=False)
def view_command(
    platform_file: str | None,
    hosts: str | None,
    port: int,
    browser: bool,
    notebook: bool,
    folder: str | None,
    run: str,
    other: str | None,
) -> int:
    """Explore a run in a browser: every rank over time, at any zoom.

    RUN is a run file (.tir), as written by 'tisim replay --timeline run.tir', or, with
    --platform, a trace. tisim execute, record and import write run files of real runs. RUN2,
    another run file of the same program, is shown next to it, aligned by their calls, with their
    differences in time. The page is served on this machine only, to anyone who has the printed
    address. Stop with Ctrl-C.
    """
    if folder is not None and other is not None:
        raise InputError("--static supports only one run")
    if platform_file is None:
        if hosts is not None:
            raise InputError("--hosts needs --platform")
        if Path(run).is_dir():
            raise InputError(
                "is a directory, not a run file; to replay a trace first, give --platform FILE",
                file=run,
            )
        _show([run, other], port, browser, notebook, folder)
        return 0
    with _ended_in_order(), tempfile.TemporaryDirectory(prefix="tisim-") as replayed:
        made = Path(replayed) / "run.tir"
        _replay(run, platform_file, hosts, made)
        _show([str(made), other], port, browser, notebook, folder)
    return 0


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Make signals that end the process unwind it, so that temporary files are removed."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _replay(trace_file: str, platform_file: str, hosts: str | None, made: Path) -> None:
    from tisim.platform import Platform
    from tisim.simulation.replay import replay
    from tisim.traces import Trace

    platform, gpus = Platform.load(platform_file), None
    trace = Trace.open(trace_file)
    if trace.has_graph:
        from tisim.gpu.launched import LaunchedGraph

        gpus = LaunchedGraph(trace_file)
    with ProgressBar("replay") as bar:
        replay(
            trace,
            platform=platform,
            hosts=None if hosts is None else named_hosts(hosts),
            progress=bar.show_simulation if bar.is_shown else None,
            timeline=made,
            gpus=gpus,
        )


def _tunnel(address: str) -> str | None:
    """The command that makes the page reachable from where an ssh session comes; None: no session.

    The address is the same there, which the server insists on.
    """
    # sshd: the addresses and ports of the client, then those of the server.
    parts = os.environ.get("SSH_CONNECTION", "").split()
    if len(parts) != 4:
        return None
    port = urlsplit(address).port
    server = "" if parts[3] == "22" else f"-p {parts[3]} "
    user = os.environ.get("USER")
    return f"ssh -N -L {port}:127.0.0.1:{port} {server}{f'{user}@' if user else ''}{parts[2]}"


def _show(
    paths: Sequence[str | None], port: int, browser: bool, notebook: bool, folder: str | None
) -> None:
    from tisim.analysis.timeline.run_file import RunFile
    from tisim.analysis.viewer import serve

    runs = [RunFile(path) for path in paths if path is not None]

    if folder is not None:
        from tisim.analysis.viewer.folder import write_folder

        size = write_folder(runs[0], folder)
        click.echo(f"tisim: wrote {folder}, {format_bytes(size)} for any web server, such as")
        click.echo(f"  python3 -m http.server --bind 127.0.0.1 --directory {folder}")
        return

    def ready(address: str) -> None:
        click.echo(address)
        click.echo("tisim: open this address in a browser; press Ctrl-C to stop", err=True)
        tunnel = _tunnel(address)
        if tunnel is not None:
            where = "to open it on your own machine, first run there"
            click.echo(f"tisim: {where}: {tunnel}", err=True)
        if notebook:
            frame = f"IPython.display.IFrame({address!r}, '100%', 800)"
            click.echo(f"tisim: or in a notebook: import IPython.display; {frame}", err=True)
        if browser:
            import webbrowser

            webbrowser.open(address)

    try:
        serve(runs, port=port, ready=ready, framed=notebook)
    except KeyboardInterrupt:
        click.echo("tisim: stopped", err=True)
