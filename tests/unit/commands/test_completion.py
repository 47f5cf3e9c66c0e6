"""Shells complete the command line with the scripts printed by ``tisim completion``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine

SHELLS = ("bash", "zsh", "fish")


def path_with_tisim(directory: Path) -> dict[str, str]:
    """Return an environment in which ``tisim`` runs with this interpreter."""
    program = directory / "tisim"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tisim "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


def complete_in_bash(directory: Path, *words: str) -> list[str]:
    """Return bash's completions of the last word."""
    code = f"""
    eval "$(tisim completion bash)"
    compopt() {{ [[ $2 == nospace ]] || echo "compopt $2"; }}
    COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
    COMP_CWORD={len(words) - 1}
    _tisim_completion tisim
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    run = subprocess.run(
        ["bash", "-c", code], env=path_with_tisim(directory), capture_output=True, text=True
    )
    assert run.stderr == ""
    return run.stdout.split("\n")[:-1]


@pytest.fixture(scope="module", autouse=True)
def bash() -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")


def test_commands_are_completed(tmp_path: Path) -> None:
    assert complete_in_bash(tmp_path, "tisim", "re") == ["replay", "record"]
    assert "completion" in complete_in_bash(tmp_path, "tisim", "")


def test_options_are_completed(tmp_path: Path) -> None:
    assert "--platform" in complete_in_bash(tmp_path, "tisim", "replay", "--pl")


@pytest.mark.parametrize(
    "words",
    [("replay", "--platform", "gra"), ("replay", "tra"), ("check", "tra"), ("platform", "gra")],
)
def test_files_are_left_to_the_shell(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert "compopt default" in complete_in_bash(tmp_path, "tisim", *words)


def test_keys_are_completed(tmp_path: Path) -> None:
    offered = complete_in_bash(tmp_path, "tisim", "replay", "--config", "network/l")
    assert "network/latency-factor=" in offered
    assert all(item.startswith("network/l") for item in offered)


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_sound(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    command = [sys.executable, "-m", "tisim", "completion", shell]
    script.write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    subprocess.run([shell, "-n", script], check=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = CommandLine(tmp_path, capsys)("completion", shell)
    assert outcome.status == 0
    assert f"_TISIM_COMPLETE={shell}_complete" in outcome.out


def test_another_shell_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = CommandLine(tmp_path, capsys)("completion", "tcsh")
    assert outcome.status == 2
    assert "'bash', 'zsh', 'fish'" in outcome.err
