"""What OTF2's library says of a damaged trace."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

try:
    from _otf2.Config import conf
except ImportError:  # another package gives no access to the functions of the library
    conf = None

# The library's data, file, line, function, code, format and arguments.
_ErrorCallback = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_uint64,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,
)
_Register = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_Describe = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)


@contextmanager
def complaints() -> Iterator[list[str]]:
    """Take what the library prints to standard error otherwise.

    Yields
    ------
    list
        What the library complains of, as it comes: some damage makes it end early, and no function
        of it fails.
    """
    found: list[str] = []
    if conf is None:
        yield found
        return
    # Functions of its own: those of the package have other types.
    register = _Register(("OTF2_Error_RegisterCallback", conf.lib))
    describe = _Describe(("OTF2_Error_GetDescription", conf.lib))

    def take(
        _data: object,
        _file: bytes,
        _line: int,
        _function: bytes,
        code: int,
        _text: bytes,
        _arguments: object,
    ) -> int:
        found.append((describe(code) or b"an error").decode())
        return code

    kept = _ErrorCallback(take)
    before = register(ctypes.cast(kept, ctypes.c_void_p), None)
    try:
        yield found
    finally:
        register(before, None)
