"""The fields of each call in a line of liballprof's."""

from __future__ import annotations

# A field is NAME, or NAME/KIND: d is a datatype (number, size, extent), c a communicator (handle,
# rank, size), v an array with a size for each rank (its address, then the sizes), r the address of
# a request or of an array of them. A dot is a field that nothing needs.
_MESSAGE = ". count datatype/d {0} tag comm/c"
_POST = _MESSAGE + " request/r"
_REDUCE = ". . count datatype/d . "
_SEND, _RECEIVE = "sendcount sendtype/d", "recvcount recvtype/d"
_SENDS, _RECEIVES = "sendcounts/v ./v sendtype/d", "recvcounts/v ./v recvtype/d"

_TEXT = {
    **dict.fromkeys(("Send", "Bsend", "Ssend", "Rsend"), _MESSAGE.format("dest")),
    **dict.fromkeys(("Isend", "Ibsend", "Issend", "Irsend"), _POST.format("dest")),
    **dict.fromkeys(("Send_init", "Bsend_init", "Ssend_init", "Rsend_init"), _POST.format("dest")),
    **dict.fromkeys(("Irecv", "Recv_init"), _POST.format("source")),
    "Recv": _MESSAGE.format("source") + " .",
    "Probe": "source tag comm/c .",
    "Sendrecv": f". {_SEND} dest sendtag . {_RECEIVE} source recvtag comm/c .",
    "Sendrecv_replace": ". count datatype/d dest sendtag source recvtag comm/c .",
    "Wait": "request/r .",
    "Test": "request/r . .",
    "Start": "request/r",
    "Startall": "count requests/r",
    "Waitall": "count requests/r .",
    "Testall": "count requests/r . .",
    "Waitany": "count requests/r . .",
    "Testany": "count requests/r . . .",
    "Waitsome": "count requests/r . . .",
    "Testsome": "count requests/r . . .",
    "Barrier": "comm/c",
    "Bcast": ". count datatype/d root comm/c",
    "Reduce": _REDUCE + "root comm/c",
    **dict.fromkeys(("Allreduce", "Scan", "Exscan"), _REDUCE + "comm/c"),
    "Gather": f". {_SEND} . {_RECEIVE} root comm/c",
    "Scatter": f". {_SEND} . {_RECEIVE} root comm/c",
    **dict.fromkeys(("Allgather", "Alltoall"), f". {_SEND} . {_RECEIVE} comm/c"),
    "Gatherv": f". {_SEND} . {_RECEIVES} root comm/c",
    "Scatterv": f". {_SENDS} . {_RECEIVE} root comm/c",
    "Allgatherv": f". {_SEND} . {_RECEIVES} comm/c",
    "Alltoallv": f". {_SENDS} . {_RECEIVES} comm/c",
    "Reduce_scatter": ". . recvcounts/v datatype/d . comm/c",
    "Comm_split": "oldcomm/c color key .",
    "Comm_dup": "oldcomm/c .",
    "Comm_create": "oldcomm/c . .",
    "Cart_create": "oldcomm/c . . . . .",
    "Comm_rank": "comm/c .",
    "Comm_size": "comm/c .",
    "Init": ". .",
    "Init_thread": ". . . .",
    "Finalize": "",
}
#: For each function, its fields as pairs of a name (empty: nothing needs it) and a kind.
LAYOUTS: dict[str, tuple[tuple[str, str], ...]] = {
    function: tuple(
        (name.strip("."), kind)
        for name, _, kind in (field.partition("/") for field in fields.split())
    )
    for function, fields in _TEXT.items()
}
#: Calls that have no line in a trace, and say nothing that another line needs.
SILENT = frozenset(
    {
        *("Initialized", "Finalized", "Wtime", "Wtick", "Get_processor_name", "Get_count"),
        *("Get_version", "Get_elements", "Get_address", "Address", "Abort", "Pcontrol"),
        *("Buffer_attach", "Buffer_detach", "Query_thread", "Is_thread_main", "Error_string"),
        *("Op_create", "Op_free", "Cart_coords", "Cart_rank", "Cart_shift", "Cart_get"),
        *("Dims_create", "Group_size", "Group_rank", "Group_incl", "Group_excl", "Group_free"),
        *("Group_translate_ranks", "Comm_group", "Comm_compare", "Comm_set_errhandler"),
        *("Errhandler_set", "Attr_get", "Attr_put", "Keyval_create", "Comm_get_attr"),
        *("Info_create", "Info_set", "Info_free", "Alloc_mem", "Free_mem", "Test_cancelled"),
    }
)
