"""The command line."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from tisim.errors import InputError, TisimError

# Sub-commands and where they live: loaded when they are used, so that help is quick.
_COMMANDS = {
    "replay": ("tisim.commands.replay", "replay_command"),
}


class _Commands(click.Group):
    """Sub-commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from tisim import __version__

        click.echo(f"tisim {__version__}")
        ctx.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
def tisim() -> None:
    """Predict how long an MPI program takes on a machine that need not exist.

    Replays time-independent traces over a description of the platform.

    \b
    Examples:
      tisim replay --platform graphene.xml --deploy deploy.xml traces/
      tisim replay --help
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; exit status 2 for a bad input, 1 for a simulation that is stuck."""
    try:
        outcome: Any = tisim.main(args=arguments, prog_name="tisim", standalone_mode=False)
        status = outcome if isinstance(outcome, int) else 0
        sys.stdout.flush()
    except click.exceptions.Abort:
        status = _fail("stopped", 130)
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except InputError as error:
        status = _fail(str(error), 2)
    except TisimError as error:
        status = _fail(str(error), 1)
    except KeyboardInterrupt:
        status = _fail("stopped", 130)
    except BrokenPipeError:
        # The reader of our output has gone; what is left must not be reported by the interpreter.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        status = _fail(f"{name}{error.strerror or error}", 2)
    sys.exit(status)


def _fail(message: str, status: int) -> int:
    click.echo(f"tisim: {message}", err=True)
    return status
