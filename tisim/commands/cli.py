"""The command line."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from tisim.errors import InputError, TisimError
from tisim.support.limits import DEFAULT_LIMIT, LIMIT_VARIABLE, unpacking_limit

# Sub-commands in groups, in the order of the help, with their descriptions.
_GROUPS = {
    "Predict": {
        "replay": "Predict the run time of an MPI program from its trace.",
        "step": "Predict the time of a training step on GPUs.",
    },
    "Traces": {
        "record": "Run an MPI program and record its trace.",
        "cc": "Compile with instruction counting for 'record'.",
        "c++": "Compile with instruction counting for 'record'.",
        "fc": "Compile with instruction counting for 'record'.",
        "import": "Convert another tool's trace: OTF2, Paraver, ScalaTrace, ...",
        "generate": "Generate synthetic traces for scaling studies.",
        "extrapolate": "Extrapolate traces to more ranks.",
        "check": "Check a trace for errors and count its actions.",
        "inspect": "Summarise an application: phases, loops, calls.",
        "pack": "Pack a trace into one small file that is fast to read.",
        "unpack": "Restore the text files of a packed trace.",
    },
    "Platforms and calibration": {
        "platform": "Describe or draw a platform, or create one.",
        "benchmark": "Measure message times with a small MPI program.",
        "calibrate": "Fit a platform's parameters to measurements.",
    },
    "GPUs": {
        "nccl-tests": "Predict nccl-tests results on a platform of GPUs.",
        "layouts": "Find the best layout of a training step.",
    },
    "Studies": {
        "sweep": "Replay a trace in many what-if scenarios.",
        "execute": "Execute a trace on a real MPI library and time it.",
        "validate": "Compare predictions with real runs.",
        "explain": "Explain where a prediction and a real run differ.",
    },
    "Results": {
        "view": "Explore a run in a browser.",
        "compare": "Explain the difference between two results.",
    },
    "Getting started": {
        "examples": "Write sample traces, platforms and programs.",
    },
    "Shell": {
        "completion": "Print the completion script for bash, zsh or fish.",
    },
}
# Modules of commands with other names.
_MODULES = {
    "cc": "counting",
    "c++": "counting",
    "fc": "counting",
    "import": "import_trace",
    "unpack": "pack",
}
_COMMANDS = {name: of for group in _GROUPS.values() for name, of in group.items()}


#: The exit status of an error of tisim itself, as sysexits.h has it.
INTERNAL_ERROR = 70
# Limits of its message: number of innermost calls, and characters of the error's text.
_MOST_FRAMES = 6
_MOST_LETTERS = 300


class _Commands(click.Group):
    """Sub-commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = cmd_name.replace("-", "_").replace("+", "x")
        module = importlib.import_module(f"tisim.commands.{_MODULES.get(cmd_name, name)}")
        command: click.Command = getattr(module, f"{name}_command")
        if "_TISIM_COMPLETE" in os.environ:  # the shell asks what may follow
            from tisim.commands.completion import complete_arguments

            complete_arguments(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        column = max(map(len, _COMMANDS))
        for title, group in _GROUPS.items():
            names: dict[str, str] = {}  # commands that do the same, such as cc and c++, on one line
            for name, summary in group.items():
                names[summary] = f"{names[summary]}, {name}" if summary in names else name
            with formatter.section(title):
                formatter.write_dl([(name.ljust(column), text) for text, name in names.items()])


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from tisim import __version__

        click.echo(f"tisim {__version__}")
        ctx.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  tisim replay --platform platforms/graphene.xml traces/lu.A.8.tar.xz
  tisim replay --help
""",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.option(
    "--unpack-limit",
    metavar="SIZE",
    help=f"Maximum unpacked size of a compressed trace or a pipe.  [default: ${LIMIT_VARIABLE} or "
    f"{DEFAULT_LIMIT}]",
)
def tisim(unpack_limit: str | None) -> None:
    """Predict how long an MPI program takes on a hypothetical machine.

    Replays time-independent traces on a platform description.
    """
    if unpack_limit is not None:
        os.environ[LIMIT_VARIABLE] = unpack_limit  # which the processes of a sweep inherit
        unpacking_limit()


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line.

    The exit status is 2 for a bad input, 1 for a simulation that is stuck, and 70 for an error of
    tisim itself.
    """
    # Nothing here multiplies large matrices, and OpenBLAS's threads wait for work by spinning: they
    # take a twelfth of the time of a short replay, and more where many replays run at once.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        outcome: object = tisim.main(args=arguments, prog_name="tisim", standalone_mode=False)
        status = outcome if isinstance(outcome, int) else 0
        if sys.stdout is not None:  # it was closed by those who started this
            sys.stdout.flush()
    except (click.exceptions.Abort, KeyboardInterrupt) as stopped:  # the first is click's word
        status = _fail(str(stopped.__cause__ or stopped) or "stopped by Ctrl-C", 130)
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except InputError as error:
        status = _fail(str(error), 2)
    except TisimError as error:
        status = _fail(str(error), 1)
    except BrokenPipeError:
        # The reader has closed the output; the interpreter must not report unwritten data.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except MemoryError:
        status = _fail("not enough memory", 2)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        status = _fail(f"{name}{error.strerror or error}", 2)
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            # Before Python 3.12, an interrupt during class creation is hidden in a RuntimeError.
            sys.exit(_fail("stopped by Ctrl-C", 130))
        lacking = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
        if isinstance(error, ModuleNotFoundError) and lacking not in ("", "tisim"):
            message = str(error)  # tisim.support.extras names the extra
            if "pip install" not in message:
                message = f"{lacking} is required but not installed: pip install {lacking}"
            status = _fail(message, 2)
        else:
            status = _fail(_report(error), INTERNAL_ERROR)
    sys.exit(status)


def _report(error: Exception) -> str:
    """The message of an unforeseen error: enough to find its cause."""
    import traceback
    from pathlib import Path

    from tisim import __version__

    frames = [
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    ]
    what = " ".join(str(error).split())[:_MOST_LETTERS]
    return (
        "internal error, not caused by the input; please report this line with the command and its "
        f"input: tisim {__version__}, {type(error).__name__}: {what} "
        f"({', '.join(reversed(frames))})"
    )


def _fail(message: str, status: int) -> int:
    click.echo(f"tisim: {message}", err=True)
    return status
