"""Make compiled code count its instructions in r15: a stand-in for the assembler.

GCC calls this file as ``as`` (``-B``). It runs on its own, since it runs once a source file.

Each basic block adds the number of its instructions with one ``lea``, which changes no flag and no
memory. The code goes into a section of its own, ``tisim_text``, so that a function can tell by its
return address whether its caller counts too. If not, r15 belongs to the caller, and the function
gives it back when it returns (``counted.s``). Only functions that can be called from elsewhere ask:
``-fcf-protection=branch`` makes the compiler mark them with ``endbr64``.
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
    """Code that cannot be made to count."""


def count_instructions(lines: list[str], position_independent: bool = False) -> list[str]:
    """The text of an assembly file of GCC, with its instructions counted in r15.

    Parameters
    ----------
    lines
        The text, without line ends.
    position_independent
        Whether the code may become part of a shared library.

    Raises
    ------
    RefusedError
        When the code uses r15 itself, as inline assembly may.
    """
    return _Pass(list(_statements(lines)), position_independent).output()


def _statements(lines: list[str]) -> Iterator[str]:
    """The lines; those of inline assembly with one statement each, without comments."""
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


class _Pass:
    def __init__(self, lines: list[str], position_independent: bool) -> None:
        self._lines = lines
        self._indirect = position_independent
        self._functions = {m[1] for line in lines if (m := _FUNCTION.match(line))}
        self._checked = self._called_from_elsewhere()
        self._labels = 0

    def _called_from_elsewhere(self) -> set[str]:
        """The functions that begin with ``endbr64``, and those that such a function jumps to."""
        checked = set()
        function = ""
        for line in self._lines:
            label = _LABEL.match(line)
            if label is not None and label[1] in self._functions:
                function = label[1]
            elif _is_instruction(line):
                if function and line.strip() == "endbr64":
                    checked.add(function)
                function = ""
                jump = _JUMP.match(line.strip())
                if jump is not None and jump[2] in self._functions and not _COLD.search(jump[2]):
                    checked.add(jump[2])
        return checked

    def output(self) -> list[str]:
        out: list[str] = []
        block: list[str] = []  # from its first instruction on
        head: list[str] = []  # what stands before that instruction
        count = 0
        in_text = True
        checked = False  # whether the current function may be called from elsewhere
        entered = ""  # the function whose first instruction has not come yet

        def flush() -> None:
            nonlocal count
            out.extend(head)
            if count:
                out.append(f"\tleaq\t{count}(%r15), %r15")
            out.extend(block)
            head.clear()
            block.clear()
            count = 0

        for line in self._lines:
            text = _TEXT.match(line)
            if text is not None or _SECTION.match(line):
                flush()
                in_text = text is not None or ("ax" in line and "section" in line)
                out.append(_renamed(text) if text is not None else line)
                continue
            if not in_text:
                out.append(line)
                continue
            label = _LABEL.match(line)
            if label is not None:
                flush()
                out.append(line)
                if label[1] in self._functions:
                    entered = label[1]
                    checked = _COLD.sub("", entered) in self._checked
                continue
            if not _is_instruction(line):
                if block or not line.strip().startswith((".byte", ".value", ".long")):
                    (block if block else head).append(line)
                else:
                    block.append(line)  # a prefix: part of the next instruction
                continue
            instruction = line.strip()
            if _RESERVED.search(instruction):
                raise RefusedError(f"r15 is reserved for counting, but is used here: {instruction}")
            count += 1
            if entered:
                name, entered = entered, ""
                if name in self._checked:
                    out.extend(head)
                    head.clear()
                    if instruction == "endbr64":
                        out.append(line)
                        out.extend(self._entry())
                        continue
                    out.extend(self._entry())
            if not _ENDS_BLOCK.match(instruction):
                block.append(line)
                continue
            block.extend(self._before(instruction, checked))
            block.append(line)
            flush()
        flush()
        return out

    def _before(self, instruction: str, checked: bool) -> list[str]:
        """What comes before an instruction that ends a block."""
        if checked and _RETURN.match(instruction):
            return self._exit()
        jump = _JUMP.match(instruction)
        if jump is not None and not jump[2].startswith(".L") and not jump[2][0].isdigit():
            target = jump[2].partition("@")[0]
            if not _COLD.search(target):
                if jump[1] not in ("jmp", "jmpq"):
                    raise RefusedError(f"a conditional jump leaves its function: {instruction}")
                return self._exit() if checked else []
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
    """The directive of a section of code, for the section of code that counts."""
    arguments = text[2].strip().lstrip(",").strip()
    if text[1] is None or not arguments:
        return '\t.section\ttisim_text,"ax",@progbits'
    return f"\t.section\ttisim_text,{arguments}"


def main(arguments: list[str]) -> None:
    """Count in each file that the compiler has written, and call the assembler."""
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
                continue  # written by hand: it does not count, and may use r15 as its own
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
