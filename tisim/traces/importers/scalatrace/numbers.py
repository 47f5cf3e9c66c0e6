"""ScalaTrace's numbers of calls, parameters and special values."""

from __future__ import annotations

#: Calls: blocking and non-blocking sends, collectives of one size, and others.
SENDS = {1012: "bsend", 1108: "send", 1113: "send", 1117: "ssend"}
ISENDS = {1072: "ibsend", 1091: "isend", 1092: "isend", 1093: "issend"}
COLLECTIVES = {
    1004: "allreduce",
    1010: "barrier",
    1011: "bcast",
    1104: "reduce",
    1110: "scan",
}
RECV, IRECV, WAIT, INIT, FINALIZE = 1102, 1090, 1148, 1084, 1045
#: Calls that need no line: those that ask for ranks, sizes and times.
SILENT = frozenset({1031, 1035, 1046, 1049, 1051, 1085, 1152, 1153})

#: Parameters of calls.
COMM, COUNT, TYPE, ROOT, DESTINATION, TAG, SOURCE = "10", "12", "14", "19", "1a", "1b", "2b"
_REDUCTION, _REQUEST = "18", "1c"
_ARGUMENTS = ("33", "34")  # of MPI_Init
PARAMETERS = frozenset(
    {COMM, COUNT, TYPE, ROOT, DESTINATION, TAG, SOURCE, _REDUCTION, _REQUEST, *_ARGUMENTS}
)
WORLD = 2
#: Any source; other peers are distances from the own rank.
ANY = 2**31 - 1
#: Bytes of MPI_INTEGER and MPI_DOUBLE_PRECISION, which are the types of the known traces.
TYPE_SIZES = {14: 4, 16: 8}
