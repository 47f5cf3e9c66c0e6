"""Instrument compiled code to count its instructions in r15: a replacement for the assembler.

GCC calls this file as ``as`` (``-B``). It is standalone, since it runs once per source file.

Each basic block adds the number of its instructions with one ``lea``, which changes no flags and no
memory. The code goes into a separate section, ``tisim_text``, so that a function can determine from
its return address whether its caller counts too. If not, r15 belongs to the caller, and the
function restores it when it returns (``counted.s``). Only functions that can be called from
elsewhere check: ``-fcf-protection=branch`` makes the compiler mark them with ``endbr64``.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator

_LABEL = re.compile(r'\s*([\w.$@]+|"[^"]+"):')
_FUNCTION = re.compile(r"\s*\.type\s+(\S+),\s*@function")
_ENDS_BLOCK = re.compile(
    r"(?:bnd\s+|notrack\s+|rep[z]?\s+)?(?:j[a-z]+|loop\w*|ret[q]?|call[q]?|xbegin|ud2|hlt|syscall)\b"
)
_RETURN = re.compile(r"(?:bnd\s+|rep[z]?\s+)?ret[q]?\b")
_JUMP = re.compile(r"(?:bnd\s+)?(j[a-z]+)\s+([\w.$@]+)$")
_CALL = re.compile(r"(?:bnd\s+)?call[q]?\s+\*?([\w.$]+)")
_RESERVED = re.compile(r"%r15[dwb]?\b")
_TEXT = re.compile(r'\s*(?:\.text\b|\.section\s+"?(\.text[\w.$]*)"?)(.*)')
_SECTION = re.compile(r"\s*\.(?:section|data|bss|pushsection|popsection|previous)\b")
_COLD = re.compile(r"\.cold(?:\.\d+)?$")

# Functions that save r15 for a jump to them, or jump to where it was saved.
_FLUSHED = frozenset(
    (
        *("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"),
        *("longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"),
        *("getcontext", "setcontext", "swapcontext", "makecontext"),
        *("__cxa_throw", "__cxa_rethrow", "_Unwind_RaiseException"),
        *("_Unwind_Resume", "_Unwind_Resume_or_Rethrow"),
    )
)


class RefusedError(Exception):
    """Code that cannot be instrumented."""


def count_instructions(lines: list[str], position_independent: bool = False) -> list[str]:
    """Return the text of a GCC assembly file with its instructions counted in r15. Code that is
    `position_independent` may become part of a shared library. Raises RefusedError when the code
    uses r15 itself, as inline assembly may.
    """
    return _Pass(list(_statements(lines)), position_independent).output()


def _statements(lines: list[str]) -> Iterator[str]:
    """Yield the lines; inline assembly is split into one statement per line, without comments."""
    inline = False
    for line in lines:
        if line.startswith(("#APP", "#NO_APP")):
            inline = line.startswith("#APP")
            yield line
        elif inline and not line.lstrip().startswith((".", "#")):
            for part in line.split("#")[0].split(";"):
                while part.strip():
                    label = _LABEL.match(part)
                    if label is None:
                        yield "\t" + part.strip()
                        break
                    yield label[0]
                    part = part[label.end() :]
        else:
            yield line


def _is_instruction(line: str) -> bool:
    text = line.strip()
    return bool(text) and text[0] not in "#./" and _LABEL.match(line) is None


class _Block:
    """The current basic block."""

    def __init__(self) -> None:
        self.before: list[str] = []  # lines before its first instruction
        self.lines: list[str] = []  # from that instruction on
        self.instructions = 0

    def counted(self) -> list[str]:
        """Return the whole block, which first adds the number of its instructions."""
        count = [f"\tleaq\t{self.instructions}(%r15), %r15"] if self.instructions else []
        return [*self.before, *count, *self.lines]


class _Pass:
    def __init__(self, lines: list[str], position_independent: bool) -> None:
        self._lines = lines
        self._indirect = position_independent
        self._functions = {m[1] for line in lines if (m := _FUNCTION.match(line))}
        self._called_from_elsewhere = self._find_called_from_elsewhere()
        self._labels = 0
        self._out: list[str] = []
        self._block = _Block()
        self._is_checked = False  # whether the current function may be called from elsewhere
        self._entered = ""  # the function whose first instruction is still to come

    def _find_called_from_elsewhere(self) -> set[str]:
        """Return the functions that begin with ``endbr64``, and functions that are jumped to."""
        found = set()
        function = ""
        for line in self._lines:
            label = _LABEL.match(line)
            if label is not None and label[1] in self._functions:
                function = label[1]
            elif _is_instruction(line):
                if function and line.strip() == "endbr64":
                    found.add(function)
                function = ""
                jump = _JUMP.match(line.strip())
                if jump is not None and jump[2] in self._functions and not _COLD.search(jump[2]):
                    found.add(jump[2])
        return found

    def output(self) -> list[str]:
        in_text = True
        for line in self._lines:
            text = _TEXT.match(line)
            if text is not None or _SECTION.match(line):
                self._end_block()
                in_text = text is not None or ("ax" in line and "section" in line)
                self._out.append(_renamed(text) if text is not None else line)
            elif not in_text:
                self._out.append(line)
            elif (label := _LABEL.match(line)) is not None:
                self._end_block()
                self._out.append(line)
                self._begin(label[1])
            elif _is_instruction(line):
                self._count(line)
            elif self._block.lines or line.strip().startswith((".byte", ".value", ".long")):
                self._block.lines.append(line)  # data may be a prefix: part of an instruction
            else:
                self._block.before.append(line)
        self._end_block()
        return self._out

    def _end_block(self) -> None:
        self._out += self._block.counted()
        self._block = _Block()

    def _begin(self, label: str) -> None:
        """Begin a function if the label is its name."""
        if label in self._functions:
            self._entered = label
            self._is_checked = _COLD.sub("", label) in self._called_from_elsewhere

    def _count(self, line: str) -> None:
        """Add an instruction to the block."""
        instruction = line.strip()
        if _RESERVED.search(instruction):
            raise RefusedError(f"r15 is reserved for counting, but is used here: {instruction}")
        self._block.instructions += 1
        function, self._entered = self._entered, ""
        if function in self._called_from_elsewhere:
            self._out += self._block.before
            self._block.before.clear()
            if instruction == "endbr64":
                self._out += [line, *self._entry()]
                return
            self._out += self._entry()
        if not _ENDS_BLOCK.match(instruction):
            self._block.lines.append(line)
            return
        self._block.lines += [*self._before(instruction), line]
        self._end_block()

    def _before(self, instruction: str) -> list[str]:
        """Return the code to insert before an instruction that ends a block."""
        if self._is_checked and _RETURN.match(instruction):
            return self._exit()
        jump = _JUMP.match(instruction)
        if jump is not None and not jump[2].startswith(".L") and not jump[2][0].isdigit():
            target = jump[2].partition("@")[0]
            if not _COLD.search(target):
                if jump[1] not in ("jmp", "jmpq"):
                    raise RefusedError(f"a conditional jump leaves its function: {instruction}")
                return self._exit() if self._is_checked else []
        call = _CALL.match(instruction)
        if call is not None and call[1] in _FLUSHED:
            return ["\tcall\ttisim_flush_count@PLT"]
        return []

    def _label(self) -> str:
        self._labels += 1
        return f".Ltisim{self._labels}"

    def _entry(self) -> list[str]:
        foreign, own = self._label(), self._label()
        return [
            "\tleaq\t__start_tisim_text(%rip), %r11",
            "\tcmpq\t%r11, (%rsp)",
            f"\tjb\t{foreign}",
            "\tleaq\t__stop_tisim_text(%rip), %r11",
            "\tcmpq\t%r11, (%rsp)",
            f"\tjb\t{own}",
            f"{foreign}:",
            "\tcall\ttisim_enter_foreign@PLT",
            f"{own}:",
        ]

    def _exit(self) -> list[str]:
        own = self._label()
        if self._indirect:
            compare = [
                "\tmovq\ttisim_foreign_stack@gottpoff(%rip), %r11",
                "\tcmpq\t%fs:(%r11), %rsp",
            ]
        else:
            compare = ["\tcmpq\t%fs:tisim_foreign_stack@tpoff, %rsp"]
        return [*compare, f"\tjb\t{own}", "\tcall\ttisim_leave_foreign@PLT", f"{own}:"]


def _renamed(text: re.Match[str]) -> str:
    """Translate the directive of a code section to the section of counting code."""
    arguments = text[2].strip().lstrip(",").strip()
    if text[1] is None or not arguments:
        return '\t.section\ttisim_text,"ax",@progbits'
    return f"\t.section\ttisim_text,{arguments}"


def main(arguments: list[str]) -> None:
    """Instrument each file written by the compiler, and call the assembler."""
    files = [word for word in arguments if word.endswith(".s")]
    independent = bool(os.environ.get("TISIM_COUNT_PIC"))
    with tempfile.TemporaryDirectory() as scratch:
        if not files:  # -pipe
            arguments = [*arguments, os.path.join(scratch, "stdin.s")]  # noqa: PTH118
            files = [arguments[-1]]
            with open(files[0], "w") as copy:  # noqa: PTH123
                copy.write(sys.stdin.read())
        for number, name in enumerate(files):
            with open(name, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
                lines = file.read().splitlines()
            if not any(line.lstrip().startswith('.ident\t"GCC') for line in lines):
                continue  # hand-written: it does not count, and may use r15
            try:
                counted = count_instructions(lines, independent)
            except RefusedError as refused:
                sys.exit(f"tisim: {refused}")
            counted += [
                "\t.hidden\t__start_tisim_text",
                "\t.hidden\t__stop_tisim_text",
                "",
            ]
            changed = os.path.join(scratch, f"{number}.s")  # noqa: PTH118
            with open(changed, "w", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
                file.write("\n".join(counted))
            arguments = [changed if word == name else word for word in arguments]
        sys.exit(os.spawnvp(os.P_WAIT, "as", ["as", *arguments]))


if __name__ == "__main__":
    main(sys.argv[1:])
