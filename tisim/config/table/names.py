"""All parameters by their names, and the other names that SimGrid has had for them."""

from __future__ import annotations

from typing import Final

from tisim.config.kinds import Value
from tisim.config.parameter import Parameter, Record
from tisim.config.table.collectives import COLLECTIVES
from tisim.config.table.files import CollectiveFiles
from tisim.config.table.mpi import Overheads, Protocol
from tisim.config.table.network import NetworkModel
from tisim.config.table.processors import CpuModel
from tisim.config.table.unused import UNUSED

RECORDS: Final[tuple[type[Record], ...]] = (
    NetworkModel,
    CpuModel,
    Protocol,
    Overheads,
    CollectiveFiles,
)


def _rows() -> list[Parameter[Value]]:
    found = [parameter for record in RECORDS for _, parameter in record.parameters()]
    return [*found, *COLLECTIVES, *UNUSED]


#: Every parameter, by its key.
PARAMETERS: Final[dict[str, Parameter[Value]]] = {}
#: The two names of one table: SimGrid 4 renamed the options, SimGrid 3 has both.
SAME_TABLE: Final[dict[str, str]] = {}
for _parameter in _rows():
    PARAMETERS[_parameter.key] = _parameter
    if _parameter.smpi_key:
        PARAMETERS[_parameter.smpi_key] = Parameter(
            key=_parameter.smpi_key,
            kind=_parameter.kind,
            default=_parameter.default,
            section=_parameter.section,
        )
        SAME_TABLE[_parameter.key] = _parameter.smpi_key
        SAME_TABLE[_parameter.smpi_key] = _parameter.key

# SimGrid wrote "_" where it writes "-" now.
_SPELLINGS: Final = {key.replace("_", "-"): key for key in PARAMETERS} | {
    spelling: parameter.key for parameter in PARAMETERS.values() for spelling in parameter.spellings
}


def canonical(key: str) -> str | None:
    """The name of an option in any of its historical spellings, None if there is no such one."""
    return _SPELLINGS.get(key.strip().replace("_", "-"))


def suggestion(key: str) -> str:
    """The known names that look like `key`, for the message of an error."""
    import difflib

    close = difflib.get_close_matches(key.replace("_", "-"), _SPELLINGS, n=3)
    names = list(dict.fromkeys(_SPELLINGS[name] for name in close))
    return f"; did you mean {' or '.join(names)}?" if names else ""
