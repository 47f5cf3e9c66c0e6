"""``tisim pack`` and ``tisim unpack``."""

from __future__ import annotations

from pathlib import Path

import click

from tisim.commands import check_trace_output, opened_name, report_written, trace_option
from tisim.commands.record import packed_parts, report_recording
from tisim.errors import InputError
from tisim.support.files import check_writable, write_file
from tisim.support.progress import ProgressBar
from tisim.support.quantities import format_bytes
from tisim.support.reading import graph_kind
from tisim.traces import Trace, unpack
from tisim.traces.dialects import DIALECTS
from tisim.traces.extrapolation.rounded import LEVELS, pack_rounded
from tisim.traces.packed import PRECISIONS, is_packed


@click.command(
    "pack",
    epilog="""\b
Examples:
  tisim pack traces/ -o lu.tit
  tisim pack lu.A.8.tar.xz -o lu.tit
  tisim pack --dialect legacy old/ -o old.tit
  tisim pack --volumes 1e-2 traces/ -o small.tit
  tisim pack --volumes mean lu.tit -o small.tit
  tisim pack --sizes 5e-2 --volumes 5e-2 traces/ -o smaller.tit
  tisim pack --iterations mean --sizes mean --volumes mean a.16.tit -o small.tit
  tisim pack parts/ -o lu.tit        # what an interrupted recording has left
  tisim pack 175b.graph -o 175b.tit   # a graph of GPUs
  tisim pack traces/ --graph step.graph -o step.tit   # ranks that launch its blocks
""",
)
@trace_option("FILE.tit", "Packed trace to write.")
@click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default="auto",
    show_default=True,
    help="Dialect of the trace lines.",
)
@click.option(
    "--volumes",
    type=click.Choice(PRECISIONS),
    default="exact",
    show_default=True,
    help="Precision of computation volumes: a relative error, or the mean of all between the same "
    "two calls. Sums between two calls are preserved.",
)
@click.option(
    "--sizes",
    type=click.Choice(LEVELS),
    default="exact",
    show_default=True,
    help="Precision of message sizes and of the counts of alltoallv and similar calls: a relative "
    "error, or the mean of all messages with the same tag.",
)
@click.option(
    "--iterations",
    type=click.Choice(LEVELS),
    default="exact",
    show_default=True,
    help="Precision of the iteration counts of loops, such as those of a solver: a relative error, "
    "or the mean of all loops that repeat the same calls.",
)
@click.option(
    "--graph",
    "graph_file",
    metavar="FILE",
    help="GPU graph file whose blocks the ranks launch, to pack with the trace.",
)
@click.argument("traces", nargs=-1, required=True)
def pack_command(
    output: str,
    dialect: str,
    volumes: str,
    sizes: str,
    iterations: str,
    graph_file: str | None,
    traces: tuple[str, ...],
) -> None:
    """Pack a trace into one file that is fast to read.

    TRACES is any trace that tisim replay accepts, or a directory with the parts left by the ranks
    of a recorded program; the trace then records which ranks did not finish. All commands that
    take traces accept packed ones. Without --volumes, --sizes and --iterations packing is
    lossless: comments, spacing and the spelling of numbers are restored. A packed trace can be
    packed again at a lower precision.

    A graph of GPUs can also be packed alone.
    """
    check_writable(output)
    if len(traces) == 1 and graph_kind(traces[0]) == "graph":
        from tisim.commands.graphs import pack_graph

        pack_graph(click.get_current_context(), output)
        return
    graph = None
    if graph_file is not None:
        from tisim.gpu.launched import LaunchedGraph
        from tisim.traces.graph_files import add_graph, read_graph_text

        LaunchedGraph(graph_file)  # is one
        graph = read_graph_text(graph_file)
    if len(traces) == 1 and _holds_parts(Path(traces[0])):
        report_recording(output, packed_parts(traces[0], output), "")
        if graph is not None:
            add_graph(output, graph)
        return
    was_packed = len(traces) == 1 and is_packed(traces[0])
    with ProgressBar("pack") as bar:
        text = pack_rounded(
            opened_name(traces),
            output,
            sizes=sizes,
            iterations=iterations,
            volumes=volumes,
            dialect=dialect,
            progress=bar.show,
        )
    if graph is not None:
        add_graph(output, graph)
    packed = Trace.open(output)
    size = Path(output).stat().st_size
    click.echo(
        f"{output}: {packed.ranks:,} ranks, {packed.actions:,} actions, {format_bytes(size)} "
        f"({size / text:.1%} of {'the original' if was_packed else 'the text'})"
    )
    report_written(output)


def _holds_parts(path: Path) -> bool:
    """True for a directory with parts, which must be merged."""
    if not path.is_dir():
        return False
    from tisim.traces.record.parts import has_parts

    return has_parts(path)


@click.command(
    "unpack",
    epilog="""\b
Examples:
  tisim unpack lu.tit -o lu/
  tisim unpack lu.tit --calls          # recorded with --arguments all
""",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="New directory for the files; for a graph of GPUs alone, the file to write.",
)
@click.option(
    "--calls",
    is_flag=True,
    help="Print each MPI call with all its arguments instead; needs a trace recorded with "
    "--arguments all.",
)
@click.argument("packed")
def unpack_command(output: str | None, calls: bool, packed: str) -> None:
    """Restore the text files of a packed trace, byte for byte.

    A graph of GPUs that was packed with the trace is written to DIR.graph.
    """
    if calls:
        from tisim.traces.calls_with_arguments import calls_with_arguments

        for rank, text in calls_with_arguments(Path(packed)):
            click.echo(f"{rank} {text}")
        return
    if output is None:
        raise InputError("-o DIR is missing: the directory for the files")
    from tisim.traces.graph_files import packed_graph

    graph = packed_graph(packed) if is_packed(packed) else None
    if graph is not None and graph_kind(packed):
        check_trace_output(output)
        write_file(output, graph)
        report_written(output)
        return
    with ProgressBar("unpack") as bar:
        unpack(packed, output, progress=bar.show)
    files = [path for path in Path(output).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    click.echo(f"{output}: {len(files):,} file{'s' if files[1:] else ''}, {format_bytes(size)}")
    report_written(output)
    if graph is not None:
        beside = f"{output.rstrip('/')}.graph"
        write_file(beside, graph)
        report_written(beside)
