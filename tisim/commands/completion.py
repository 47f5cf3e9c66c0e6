"""``tisim completion``: the script that makes a shell complete tisim's arguments."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

SHELLS = ("bash", "zsh", "fish")
# Environment variable with which the script requests completions.
VARIABLE = "_TISIM_COMPLETE"


class _File(click.types.StringParamType):
    """A text that the shell completes as the name of a file."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class _ConfigurationItem(click.types.StringParamType):
    """A ``KEY=VALUE`` whose key is completed."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from tisim.config.table import PARAMETERS

        keys = sorted(key for key in PARAMETERS if key.startswith(incomplete))
        return [CompletionItem(f"{key}=") for key in keys]


def complete_arguments(command: click.Command) -> None:
    """Give the parameters of a command the types that a shell completes: files, and keys."""
    for param in command.params:
        if type(param.type) is not click.types.StringParamType:
            continue
        metavar = param.metavar or ""
        if isinstance(param, click.Argument) or "FILE" in metavar or "DIR" in metavar:
            param.type = _File()
        elif metavar == "KEY=VALUE":
            param.type = _ConfigurationItem()


@click.command(
    "completion",
    epilog="""\b
Examples:
  tisim completion bash >> ~/.bashrc
  tisim completion zsh >> ~/.zshrc
  tisim completion fish > ~/.config/fish/completions/tisim.fish
""",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print a script with which the shell completes commands, options, files and keys."""
    completer = get_completion_class(shell)
    assert completer is not None
    instance = completer(ctx.find_root().command, {}, "tisim", VARIABLE)
    script = instance.source_template % instance.source_vars()
    if shell == "bash":  # the value follows right after a key's "="
        plain = "COMPREPLY+=($value)"
        script = script.replace(
            plain, f"{plain}\n            [[ $value == *= ]] && compopt -o nospace"
        )
    click.echo(script)
