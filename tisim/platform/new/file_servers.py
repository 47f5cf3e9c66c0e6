"""The servers of a new platform's parallel file system."""

from __future__ import annotations

from tisim.errors import InputError
from tisim.platform.description.file_systems import FILE_SYSTEM, PFS_WORDS, read_words

_NAME = "scratch"


def file_servers(text: str, nodes: int, prefix: str) -> dict[str, str]:
    """The property of a zone that makes the last hosts of a cluster servers of a file system.

    Parameters
    ----------
    text
        ``servers=8,read=5GBps,write=3GBps``, and what else a file system is described by.
    nodes
        Hosts of the cluster. The last one is the metadata server, those before it are the others.
    prefix
        What the names of the hosts begin with.

    Raises
    ------
    InputError
        If the words do not make sense, or no host is left for ranks.
    """
    try:
        words = read_words(text, ("name", *PFS_WORDS), "a parallel file system")
        missing = [word for word in ("servers", "read", "write") if word not in words]
        if missing:
            raise InputError(f"it needs {' and '.join(f'{word}=' for word in missing)}")
        count = words.pop("servers")
        if not (count.isascii() and count.isdigit() and int(count) > 0):
            raise InputError(f"servers is a whole number above zero, not {count!r}")
        first = nodes - int(count) - 1
        if first < 1:
            raise InputError(
                f"{count} servers and a metadata server are {int(count) + 1} of the hosts; at "
                f"least one more is for ranks, and there are {nodes} in all"
            )
    except InputError as error:
        raise InputError(f"pfs: {error.message}") from None
    name = words.pop("name", _NAME)
    described = {
        "type": "striped",
        "mount": words.pop("mount", f"/{name}"),
        "servers": f"{prefix}-{{{first}-{nodes - 2}}}",
        "metadata": f"{prefix}-{nodes - 1}",
        **words,
    }
    return {
        f"{FILE_SYSTEM}{name}": ",".join(f"{word}={value}" for word, value in described.items())
    }
