"""``make validate``: real runs on a testbed of namespaces, compared with predictions."""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.validation import document
from benchmarks.validation.before import pairs_of, results_of, text_of
from benchmarks.validation.drawn import drawn
from benchmarks.validation.kept import write_study
from benchmarks.validation.layouts import NETWORKS, Network, programs_on
from benchmarks.validation.machine import SPEED, calibrated
from benchmarks.validation.programs import Program, few_programs, programs
from benchmarks.validation.recorded import absent, recorded
from benchmarks.validation.testbed import Layout, congestion_controls, missing, shaped_nodes
from tisim.commands.validate import print_validation
from tisim.platform import Platform
from tisim.studies.validation import Case, Study, Thresholds, Validation, validate
from tisim.studies.validation.page import page
from tisim.support.mpi import find_library

# Maximum number of ranks by bits/s that these two processors support without being a bottleneck.
_RATES = {40_000_000: 8, 20_000_000: 16}
# Divisor of the number of programs at the lower rate, which take as long as those at the higher.
_PART = 4
# Number of parameter sets for the interval of each prediction.
_SETS = 10
# In CI only gross errors fail.
_GROSS = Thresholds(median=1.0)
# Time limit of a repetition in seconds.
_TIME_LIMIT = 120.0


@click.command()
@click.option("--few", is_flag=True, help="Ten cases at the first rate; only gross errors fail.")
@click.option(
    "--drawn",
    "draw",
    type=int,
    nargs=2,
    metavar="COUNT SEED",
    help="So many programs drawn with this seed, at the first rate, in the place of the others.",
)
@click.option("--match", default="", metavar="TEXT", help="Only cases whose names contain this.")
@click.option("--rate", "rates", type=int, multiple=True, metavar="BITS", help="Bits a second.")
@click.option(
    "--network",
    "networks",
    type=click.Choice([*NETWORKS]),
    multiple=True,
    help="Only networks that are not a star of equal nodes, at the first rate.",
)
@click.option(
    "--library",
    type=click.Choice(["openmpi", "mpich"]),
    default="openmpi",
    show_default=True,
    help="The MPI library that runs the programs.",
)
@click.option(
    "--congestion-control",
    metavar="NAME",
    help="TCP's, such as reno, in the place of the machine's.",
)
@click.option("--repeat", default=5, show_default=True, help="Runs of each case.")
@click.option("--cfg", "items", multiple=True, metavar="KEY:VALUE", help="Of the simulation.")
@click.option("--seeds", default=5, show_default=True, help="Predictions of each case.")
@click.option("--html", metavar="FILE", help="Write a page for each rate: FILE-80.html.")
@click.option(
    "--keep",
    metavar="DIR",
    help="Keep measurements, platforms and traces, and a study.toml with the real times, which "
    "'tisim validate' predicts again without executing anything.",
)
@click.option(
    "--before",
    metavar="DIR",
    help="What an earlier validation has kept: the real runs and the errors of both are compared.",
)
@click.option("--write", "writes", is_flag=True, help="Write the tables into docs/validation.md.")
@click.option("--table", metavar="FILE", help="Write the tables into a file.")
def main(
    few: bool,
    draw: tuple[int, int] | None,
    match: str,
    rates: tuple[int, ...],
    networks: tuple[str, ...],
    library: str,
    congestion_control: str | None,
    repeat: int,
    items: tuple[str, ...],
    seeds: int,
    html: str | None,
    keep: str | None,
    before: str | None,
    writes: bool,
    table: str | None,
) -> None:
    """Compare predictions with real runs on network namespaces of this machine."""
    if congestion_control is not None and congestion_control not in congestion_controls():
        raise click.BadParameter(
            f"a namespace may have {', '.join(congestion_controls())}, not {congestion_control}",
            param_hint="--congestion-control",
        )
    reason = missing(library)
    if reason is not None:
        click.echo(f"skipped: {reason}")
        return
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell may have it ignore the first
        signal.signal(number, _stop)
    config = dict(item.partition(":")[::2] for item in items)
    everything = few_programs() if few else [*programs(), *recorded()]
    if draw is not None:
        everything = list(drawn(*draw))
    one_bed = few or draw is not None
    wanted = [program for program in everything if match in program.title]
    left_out = absent()
    if left_out is not None and not one_bed:
        click.echo(left_out, err=True)
    passed, text = True, ""
    beds = [
        Bed(f"{rate / 1e6:g}", rate, tuple(wanted if one_bed else chosen_at(wanted, rate)))
        for rate in (() if networks else rates or (list(_RATES)[:1] if one_bed else _RATES))
    ]
    for name in () if one_bed else networks or NETWORKS:
        programs_ = tuple(program for program in programs_on(name) if match in program.title)
        beds.append(Bed(name, (rates or list(_RATES))[0], programs_, NETWORKS[name]))
    for bed in beds:
        if not bed.programs:
            continue
        when = document.versions(find_library(f"mpicc.{library}"), congestion_control)
        found = _validate(bed, library, congestion_control, repeat, config, seeds, few, keep)
        click.echo(f"{bed.title}, {when}")
        print_validation(found)
        passed = passed and found.passed
        text += document.tables(found, bed.programs, bed.title, when)
        compared = _compared(found, before, bed.folder)
        click.echo(compared, nl=False)
        text += compared
        if html is not None:
            path = Path(f"{html}-{bed.folder}.html")
            path.write_text(page(f"Validation: {bed.title}", found, [when]))
    if writes:
        document.write(text)
    if table is not None:
        Path(table).write_text(text.lstrip())
    sys.exit(0 if passed else 1)


@dataclass(frozen=True)
class Bed:
    """A testbed: its name, the rate of its cables in bits/s, its programs and its network."""

    name: str
    rate: int
    programs: tuple[Program, ...]
    network: Network | None = None  # None: a star of equal nodes

    @property
    def title(self) -> str:
        rate = f"{self.rate / 1e6:g} Mbit/s"
        return rate if self.network is None else f"{self.name}, {rate}"

    @property
    def folder(self) -> str:
        return self.name.replace(" ", "-")  # Open MPI rejects paths with blanks

    @property
    def nodes(self) -> int:
        most = max(program.ranks for program in self.programs)
        return most if self.network is None else self.network.nodes


def _compared(found: Validation, before: str | None, folder: str) -> str:
    """Return a comparison with an earlier validation on the same testbed."""
    directory = Path(before or "") / folder
    if before is None or not (directory / "study.toml").exists():
        return ""
    earlier = results_of(directory)
    return text_of(pairs_of(earlier, found.results), earlier)


def chosen_at(wanted: list[Program], rate: int) -> list[Program]:
    """Return the programs at a rate: those whose ranks the processors support.

    Programs of few ranks run at the highest rate, and some of them at the other rates.
    """
    highest = max(_RATES)
    carried = [program for program in wanted if program.ranks <= _RATES.get(rate, 16)]
    if rate == highest:
        return carried
    more = [program for program in carried if program.ranks > _RATES[highest]]
    return [*[program for program in carried if program not in more][::_PART], *more]


def _validate(
    bed: Bed,
    library: str,
    congestion_control: str | None,
    repeat: int,
    config: dict[str, str],
    seeds: int,
    few: bool,
    keep: str | None,
) -> Validation:
    directory = None if keep is None else Path(keep) / bed.folder
    layout = Layout() if bed.network is None else bed.network.layout
    with (
        _directory(directory) as scratch,
        shaped_nodes(bed.nodes, bed.rate, scratch, layout, library, congestion_control) as nodes,
    ):
        click.echo(f"calibrates {bed.nodes} nodes: {bed.title}", err=True)
        platform = calibrated(nodes, scratch, quickly=few)
        names = [host.name for host in Platform.load(platform).hosts]
        cases = tuple(
            Case(
                program.title,
                program.write(scratch),
                platform,
                group=program.group,
                config=config,
                seeds=seeds,
                uncertainty=0 if few else _SETS,
                command=nodes.command(program.ranks),
                hosts=tuple(names[rank // layout.ranks] for rank in range(program.ranks)),
                speed=SPEED,
                repeat=repeat,
                time_limit=_TIME_LIMIT,
                compiler=nodes.compiler,
            )
            for program in bed.programs
        )
        found = validate(Study(cases, {"": _GROSS}), _show)
    if directory is not None:
        click.echo(f"the real times: {write_study(found.results, directory)}", err=True)
    return found


@contextlib.contextmanager
def _directory(kept: Path | None) -> Iterator[Path]:
    """Yield a directory for measurements, platform and traces, which is kept if named."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
    else:
        with tempfile.TemporaryDirectory() as scratch:
            yield Path(scratch)


def _show(number: int, cases: int, name: str) -> None:
    click.echo(f"{number + 1} of {cases}: {name}", err=True)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
