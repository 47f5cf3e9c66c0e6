// The table of operations. Every action of a trace and every kind of operation that the core
// executes is declared here and nowhere else.
//
// These rows generate the enumerations Kind and Operation, the vocabulary of the parser, the layout
// of collective calls, the names in event logs and messages, the enumerations in Python, the
// headers of the recorder and the executor in C, and the required contents of docs/traces.md
// (tested). A `switch` over Role, Form or Operation has no `default`: with a new role, the parser,
// the checker and the interpreter do not compile until they handle it (-Werror=switch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tisim {

// How the arguments of an action are read.
enum class Form : std::uint8_t {
  none,      // the kind has no action of its own
  ignored,   // any arguments
  location,  // of the next call
  init,      // any argument makes double the default type
  finalize,  // any arguments; the program ends
  compute,
  sleep,
  send,
  receive,
  probe,
  sendrecv,
  request,   // the key of a pending request
  start,     // the same, or what SimGrid's tracer writes
  requests,  // none, or a number of requests
  collective,
  comm_split,
  comm_dup,
  comm_group,
  comm_free,
  file,
  window,
  custom,  // any arguments, kept as words
};

// The role of an operation. The interpreter, the checks, the walks, the timelines and the C
// executor switch on this; kinds with the same role differ only in the other columns.
// clang-format off
#define TISIM_ROLES(ROW)                                                                           \
  ROW(end) /* of the trace */                                                                      \
  ROW(nothing)                                                                                     \
  ROW(compute)                                                                                     \
  ROW(sleep)                                                                                       \
  ROW(threads) /* of the computation before it */                                                  \
  ROW(send)                                                                                        \
  ROW(receive)                                                                                     \
  ROW(exchange) /* a sendrecv: its send */                                                         \
  ROW(receive_half) /* its receive */                                                              \
  ROW(make_persistent)                                                                             \
  ROW(start)                                                                                       \
  ROW(start_all)                                                                                   \
  ROW(number_request) /* numbers the last request created */                                       \
  ROW(number_persistent) /* numbers the last persistent request */                                 \
  ROW(complete_one) /* a wait or test for one request */                                           \
  ROW(complete_last) /* for the one posted last */                                                 \
  ROW(complete_collective)                                                                         \
  ROW(complete_all)                                                                                \
  ROW(complete_any)                                                                                \
  ROW(complete_some)                                                                               \
  ROW(cancel)                                                                                      \
  ROW(free_request)                                                                                \
  ROW(probe)                                                                                       \
  ROW(collective)                                                                                  \
  ROW(make_communicator)                                                                           \
  ROW(free_communicator)                                                                           \
  ROW(file)                                                                                        \
  ROW(file_offset)                                                                                 \
  ROW(window)                                                                                      \
  ROW(launch) /* launches a block of a graph on the rank's GPU */                                  \
  ROW(custom)
// clang-format on

// When a send completes: depending on its message size, when its receive has begun, or at once.
#define TISIM_SEND_MODES(ROW) ROW(standard) ROW(synchronous) ROW(buffered)

// ROW(kind, properties): the kinds of operations. A kind with a form is the action of its name.
//
// A line of a trace becomes one operation or several (a sendrecv, a reduction with its flops).
// `makes_request`: a request is pending afterwards. `blocks`: the rank may have to wait in it; an
// operation that completes requests without blocking is a test. `name`: name in messages and event
// logs. `usage`: the arguments in the modern dialect; `legacy_usage`: in the legacy one, if
// different. `effect`: description of the action in the documentation.
// clang-format off
#define TISIM_KINDS(ROW)                                                                           \
  ROW(end, .role = Role::end, .name = "no action")                                                 \
  ROW(nop, .role = Role::nothing)                                                                  \
  ROW(compute, .role = Role::compute, .blocks = true, .form = Form::compute,                       \
      .usage = "flops [threads=N sum=S]",                                                          \
      .effect = "performs this many flops (or instructions, if the hosts' speed counts those)")    \
  ROW(sleep, .role = Role::sleep, .blocks = true, .form = Form::sleep, .usage = "seconds",         \
      .effect = "idles for this time")                                                             \
  ROW(send, .role = Role::send, .blocks = true, TISIM_SEND)                                        \
  ROW(ssend, .role = Role::send, TISIM_SYNCHRONOUS, .blocks = true, TISIM_SEND, TISIM_SEND_MODE)   \
  ROW(bsend, .role = Role::send, TISIM_BUFFERED, TISIM_SEND, TISIM_SEND_MODE)                      \
  ROW(isend, .role = Role::send, .makes_request = true, TISIM_SEND)                                \
  ROW(issend, .role = Role::send, TISIM_SYNCHRONOUS, .makes_request = true, TISIM_SEND,            \
      TISIM_SEND_MODE)                                                                             \
  ROW(ibsend, .role = Role::send, TISIM_BUFFERED, .makes_request = true, TISIM_SEND,               \
      TISIM_SEND_MODE)                                                                             \
  ROW(recv, .role = Role::receive, .receives = true, .blocks = true, TISIM_RECEIVE,                \
      .effect = "count < 0: unknown size, probed first")                                           \
  ROW(irecv, .role = Role::receive, .receives = true, .makes_request = true, TISIM_RECEIVE,        \
      .effect = "count < 0: unknown size, probed first")                                           \
  ROW(sendrecv, .role = Role::exchange, .blocks = true, .form = Form::sendrecv,                    \
      .usage = "scount dst rcount src [stype rtype]", .effect = "tag 0 in both directions")        \
  ROW(recv_half, .role = Role::receive_half, .receives = true, .blocks = true, .name = "recv")     \
  ROW(wait, .role = Role::complete_one, .blocks = true, TISIM_REQUEST)                             \
  ROW(wait_last, .role = Role::complete_last, .blocks = true, .name = "wait")                      \
  ROW(waitall, .role = Role::complete_all, .blocks = true, TISIM_REQUESTS)                         \
  ROW(waitany, .role = Role::complete_any, .blocks = true, TISIM_CHOICE)                           \
  ROW(waitsome, .role = Role::complete_some, .blocks = true, TISIM_CHOICE)                         \
  ROW(test, .role = Role::complete_one, TISIM_REQUEST)                                             \
  ROW(test_last, .role = Role::complete_last, .name = "test")                                      \
  ROW(cancel, .role = Role::cancel, TISIM_ONE_REQUEST,                                             \
      .effect = "addition: cancels this request unless its message has been matched; the request " \
                "must still be waited for")                                                        \
  ROW(request_free, .role = Role::free_request, TISIM_ONE_REQUEST,                                 \
      .effect = "addition: frees this request without waiting for it; its message continues; "     \
                "also for persistent requests")                                                    \
  ROW(testall, .role = Role::complete_all, TISIM_REQUESTS)                                         \
  ROW(testany, .role = Role::complete_any, TISIM_REQUESTS)                                         \
  ROW(testsome, .role = Role::complete_some, TISIM_REQUESTS)                                       \
  ROW(probe, .role = Role::probe, .blocks = true, .form = Form::probe, .usage = "src tag",         \
      .legacy_usage = "src", .effect = "addition")                                                 \
  ROW(iprobe, .role = Role::probe, .form = Form::probe, .usage = "src tag", .legacy_usage = "src", \
      .effect = "addition")                                                                        \
  ROW(send_init, .role = Role::make_persistent, TISIM_SEND, TISIM_SEND_INIT)                       \
  ROW(ssend_init, .role = Role::make_persistent, TISIM_SYNCHRONOUS, TISIM_SEND, TISIM_SEND_INIT)   \
  ROW(bsend_init, .role = Role::make_persistent, TISIM_BUFFERED, TISIM_SEND, TISIM_SEND_INIT)      \
  ROW(recv_init, .role = Role::make_persistent, .receives = true, TISIM_RECEIVE,                   \
      .effect = "addition")                                                                        \
  ROW(start, .role = Role::start, .makes_request = true, .form = Form::start,                      \
      .usage = "src dst tag or request=N",                                                         \
      .effect = "addition: starts the persistent request with this key or number")                 \
  ROW(startall, .role = Role::start_all, .makes_request = true, .form = Form::requests,            \
      .usage = "[number of requests] or requests=N,M,...",                                         \
      .effect = "starts the persistent requests with these numbers, or all inactive ones")         \
  ROW(number_request, .role = Role::number_request, .name = "request")                             \
  ROW(number_persistent, .role = Role::number_persistent, .name = "request")                       \
  ROW(collective, .role = Role::collective, .blocks = true)                                        \
  ROW(icollective, .role = Role::collective, .makes_request = true, .name = "collective")          \
  ROW(wait_icollective, .role = Role::complete_collective, .blocks = true, .name = "wait")         \
  ROW(comm_split, .role = Role::make_communicator, .blocks = true, .form = Form::comm_split,       \
      .operation = Operation::comm_split, .usage = "parent new color key",                         \
      .effect = "addition: divides a communicator by color")                                       \
  ROW(comm_dup, .role = Role::make_communicator, .blocks = true, .form = Form::comm_dup,           \
      .operation = Operation::comm_dup, .usage = "parent new",                                     \
      .effect = "addition: copies a communicator")                                                 \
  ROW(comm_idup, .role = Role::make_communicator, .form = Form::comm_dup,                          \
      .operation = Operation::comm_idup, .usage = "parent new",                                    \
      .effect = "addition: the same without waiting or messages")                                  \
  ROW(comm_group, .role = Role::make_communicator, .blocks = true, .form = Form::comm_group,       \
      .operation = Operation::comm_group, .usage = "new rank...",                                  \
      .effect = "addition: creates a communicator of these world ranks, all of which call it")     \
  ROW(threads, .role = Role::threads, .name = "compute")                                           \
  ROW(comm_free, .role = Role::free_communicator, .form = Form::comm_free,                         \
      .operation = Operation::comm_free, .usage = "comm", .effect = "addition")                    \
  ROW(custom, .role = Role::custom, .blocks = true, .operation = Operation::custom)                \
  ROW(file, .role = Role::file, .blocks = true)                                                    \
  ROW(file_offset, .role = Role::file_offset, .name = "file")                                      \
  ROW(waitany_recorded, .role = Role::complete_all, .blocks = true, .name = "waitany")             \
  ROW(waitsome_recorded, .role = Role::complete_all, .blocks = true, .name = "waitsome")           \
  ROW(window, .role = Role::window, .blocks = true)                                                \
  ROW(launch, .role = Role::launch, .blocks = true, .form = Form::custom,                          \
      .operation = Operation::custom, .usage = "block [times]",                                    \
      .effect = "addition: launches a block of the graph (`--graph`) on the rank's GPU, and waits "\
                "where the block synchronizes")

#define TISIM_SYNCHRONOUS .mode = SendMode::synchronous
#define TISIM_BUFFERED .mode = SendMode::buffered
#define TISIM_SEND                                                                                 \
  .form = Form::send, .usage = "dst tag count [type]", .legacy_usage = "dst count [type]"
#define TISIM_SEND_MODE .effect = "synchronous or buffered mode"
#define TISIM_SEND_INIT .effect = "addition: a persistent request"
#define TISIM_RECEIVE                                                                              \
  .form = Form::receive, .usage = "src tag count [type]", .legacy_usage = "src [count [type]]"
#define TISIM_REQUEST                                                                              \
  .form = Form::request, .usage = "src dst tag or request=N",                                      \
  .legacy_usage = "no arguments or request=N",                                                     \
  .effect = "the oldest pending request for a message from `src` to `dst` with this tag, or the "  \
            "one with this number"
#define TISIM_ONE_REQUEST                                                                          \
  .form = Form::request, .usage = "src dst tag or request=N", .legacy_usage = "request=N"
#define TISIM_REQUESTS                                                                             \
  .form = Form::requests, .usage = "[number of requests] or requests=N,M,...", TISIM_OF_REQUESTS
#define TISIM_CHOICE                                                                               \
  .form = Form::requests,                                                                          \
  .usage = "[number of requests] or requests=N,M,... [completed=N,...]", TISIM_OF_REQUESTS
#define TISIM_OF_REQUESTS                                                                          \
  .effect = "these requests, or all pending ones; the number of requests is ignored"

// ROW(operation, properties): the collectives. Each is two actions, with and without an `i` before
// its name; the kinds of their operations are `collective` and `icollective`.
//
// The usage is the grammar of the arguments (parsed by collective_call.cpp). `flow`: whose data
// ranks need; all ranks' by default. `request_tag`: the tag that SimGrid's tracer writes in the
// wait for the non-blocking collective.
#define TISIM_COLLECTIVES(ROW)                                                                     \
  ROW(barrier, .usage = "no arguments", .request_tag = -779)                                       \
  ROW(bcast, .usage = "count [root [type]]", .flow = DataFlow::from_root,                          \
      .request_tag = -3335)                                                                        \
  ROW(reduce, .usage = "count flops [root [type]]", .flow = DataFlow::to_root,                     \
      .request_tag = -113)                                                                         \
  ROW(allreduce, .usage = "count flops [type]", .request_tag = -4446)                              \
  ROW(alltoall, .usage = "scount rcount [stype rtype]", .request_tag = -1113)                      \
  ROW(alltoallv, .usage = "sbuf s0..sP-1 [displacements] rbuf r0..rP-1 [displacements] [stype rtype]", \
      .effect = "the buffer sizes `sbuf` and `rbuf` and the displacements are ignored",            \
      .request_tag = -1001)                                                                        \
  ROW(gather, .usage = "scount rcount [root [stype rtype]]", .flow = DataFlow::to_root,            \
      .request_tag = -446)                                                                         \
  ROW(gatherv, .usage = "scount r0..rP-1 [root [stype rtype]]", .flow = DataFlow::to_root,         \
      .request_tag = -2224)                                                                        \
  ROW(scatter, .usage = "scount rcount [root [stype rtype]]", .flow = DataFlow::from_root,         \
      .request_tag = -224)                                                                         \
  ROW(scatterv, .usage = "s0..sP-1 rcount [root [stype rtype]]", .flow = DataFlow::from_root,      \
      .request_tag = -335)                                                                         \
  ROW(allgather, .usage = "scount rcount [stype rtype]", .request_tag = -557)                      \
  ROW(allgatherv, .usage = "scount r0..rP-1 [stype rtype] [displacements]",                        \
      .effect = "displacements are ignored", .request_tag = -668)                                  \
  ROW(reducescatter, .usage = "r0..rP-1 flops [type]", .request_tag = -890)                        \
  ROW(scan, .usage = "count flops [type]", .flow = DataFlow::chain, .request_tag = -889)           \
  ROW(exscan, .usage = "count flops [type]", .flow = DataFlow::chain, .request_tag = -889)         \
  ROW(neighbor_allgather, .usage = TISIM_NEIGHBOURS "scount rcount [stype rtype]",                 \
      TISIM_AMONG_NEIGHBOURS)                                                                      \
  ROW(neighbor_allgatherv, .usage = TISIM_NEIGHBOURS "scount r0..rS-1 [stype rtype]",              \
      TISIM_AMONG_NEIGHBOURS)                                                                      \
  ROW(neighbor_alltoall, .usage = TISIM_NEIGHBOURS "scount rcount [stype rtype]",                  \
      TISIM_AMONG_NEIGHBOURS)                                                                      \
  ROW(neighbor_alltoallv, .usage = TISIM_NEIGHBOURS "s0..sD-1 r0..rS-1 [stype rtype]",             \
      TISIM_AMONG_NEIGHBOURS)

// Number and ranks of the destinations, then of the sources.
#define TISIM_NEIGHBOURS "D to0..toD-1 S from0..fromS-1 "
#define TISIM_AMONG_NEIGHBOURS                                                                     \
  .effect = "addition: to and from these ranks, -666: none; the n-th message from one rank to "    \
            "another matches the n-th that the receiver lists",                                    \
  .flow = DataFlow::neighbours, .request_tag = -1002 /* SimGrid has none */

// ROW(operation, properties): calls on files, in POSIX and MPI-IO terms. The kind of their
// operations is `file`.
//
// `like`: the POSIX call equivalent to a rank's own part of an MPI-IO call. `synchronises`: the
// ranks of the communicator, an argument `comm=`, first wait for each other. `is_shared`: the
// position is shared by all ranks that opened the file together. `makes_request`: the rank
// continues at once. `part_of`: it is the first or second step of that call (a split collective
// call of MPI).
#define TISIM_FILE_CALLS(ROW)                                                                      \
  ROW(open, .usage = "handle name [flags] [size=bytes]",                                           \
      .effect = "the handle refers to this file until `close`")                                    \
  ROW(close, .usage = "handle", .effect = "frees the handle")                                      \
  ROW(read, .usage = "handle bytes", .effect = "reads at the handle's position and advances it")   \
  ROW(write, .usage = "handle bytes", .effect = "writes at the handle's position and advances it") \
  ROW(pread, .usage = "handle bytes offset",                                                       \
      .effect = "reads at an offset; the position does not change")                                \
  ROW(pwrite, .usage = "handle bytes offset",                                                      \
      .effect = "writes at an offset; the position does not change")                               \
  ROW(lseek, .usage = "handle offset [set or cur or end]",                                         \
      .effect = "sets the position relative to the beginning (`set`), the position (`cur`) or "    \
                "the end")                                                                         \
  ROW(fsync, .usage = "handle", .effect = "does nothing: written data are already on the disk")    \
  ROW(stat, .usage = "name", .effect = "does nothing, but the file's disk must exist")             \
  ROW(unlink, .usage = "name", .effect = "removes the file")                                       \
  ROW(mkdir, .usage = "name", .effect = "does nothing, but the directory's disk must exist")       \
  ROW(file_open, .usage = "handle name [flags] [size=bytes]", .like = Operation::open,             \
      .synchronises = true, .effect = "all ranks of the communicator open the file")               \
  ROW(file_close, .usage = "handle", .like = Operation::close, .synchronises = true)               \
  ROW(file_read, .usage = "handle bytes", .like = Operation::read)                                 \
  ROW(file_write, .usage = "handle bytes", .like = Operation::write)                               \
  ROW(file_read_at, .usage = "handle bytes offset", .like = Operation::pread)                      \
  ROW(file_write_at, .usage = "handle bytes offset", .like = Operation::pwrite)                    \
  ROW(file_read_all, .usage = "handle bytes", .like = Operation::read, .synchronises = true)       \
  ROW(file_write_all, .usage = "handle bytes", .like = Operation::write, .synchronises = true)     \
  ROW(file_read_at_all, .usage = "handle bytes offset", .like = Operation::pread,                  \
      .synchronises = true)                                                                        \
  ROW(file_write_at_all, .usage = "handle bytes offset", .like = Operation::pwrite,                \
      .synchronises = true)                                                                        \
  ROW(file_read_shared, .usage = "handle bytes", .like = Operation::read, .is_shared = true,       \
      .effect = "at the position shared by all ranks")                                             \
  ROW(file_write_shared, .usage = "handle bytes", .like = Operation::write, .is_shared = true,     \
      .effect = "at the position shared by all ranks")                                             \
  ROW(file_read_ordered, .usage = "handle bytes", .like = Operation::read, .synchronises = true,   \
      .is_shared = true, .effect = "the same, collectively")                                       \
  ROW(file_write_ordered, .usage = "handle bytes", .like = Operation::write,                       \
      .synchronises = true, .is_shared = true, .effect = "the same, collectively")                 \
  ROW(file_seek, .usage = "handle offset [set or cur or end]", .like = Operation::lseek)           \
  ROW(file_seek_shared, .usage = "handle offset [set or cur or end]", .like = Operation::lseek,    \
      .synchronises = true, .is_shared = true)                                                     \
  ROW(file_sync, .usage = "handle", .like = Operation::fsync, .synchronises = true)                \
  ROW(file_set_view, .usage = "handle [displacement block [count distance]... distance]",          \
      .synchronises = true,                                                                        \
      .effect = "synchronises; positions and offsets count bytes of the view, or of the file "     \
                "without one")                                                                     \
  ROW(file_set_size, .usage = "handle bytes", .synchronises = true,                                \
      .effect = "truncates the file, or extends it with a hole")                                   \
  ROW(file_preallocate, .usage = "handle bytes", .synchronises = true,                             \
      .effect = "makes the file at least this long and allocates the space")                       \
  ROW(file_iread, .usage = "handle bytes", TISIM_FILE_REQUEST(read, false))                        \
  ROW(file_iwrite, .usage = "handle bytes", TISIM_FILE_REQUEST(write, false))                      \
  ROW(file_iread_at, .usage = "handle bytes offset", TISIM_FILE_REQUEST(pread, false))             \
  ROW(file_iwrite_at, .usage = "handle bytes offset", TISIM_FILE_REQUEST(pwrite, false))           \
  ROW(file_iread_all, .usage = "handle bytes", TISIM_FILE_REQUEST(read, false))                    \
  ROW(file_iwrite_all, .usage = "handle bytes", TISIM_FILE_REQUEST(write, false))                  \
  ROW(file_iread_at_all, .usage = "handle bytes offset", TISIM_FILE_REQUEST(pread, false))         \
  ROW(file_iwrite_at_all, .usage = "handle bytes offset", TISIM_FILE_REQUEST(pwrite, false))       \
  ROW(file_iread_shared, .usage = "handle bytes", TISIM_FILE_REQUEST(read, true))                  \
  ROW(file_iwrite_shared, .usage = "handle bytes", TISIM_FILE_REQUEST(write, true))                \
  ROW(file_read_all_begin, .usage = "handle bytes", TISIM_FILE_BEGIN(read, file_read_all, false))  \
  ROW(file_write_all_begin, .usage = "handle bytes", TISIM_FILE_BEGIN(write, file_write_all, false))\
  ROW(file_read_at_all_begin, .usage = "handle bytes offset",                                      \
      TISIM_FILE_BEGIN(pread, file_read_at_all, false))                                            \
  ROW(file_write_at_all_begin, .usage = "handle bytes offset",                                     \
      TISIM_FILE_BEGIN(pwrite, file_write_at_all, false))                                          \
  ROW(file_read_ordered_begin, .usage = "handle bytes",                                            \
      TISIM_FILE_BEGIN(read, file_read_ordered, true))                                             \
  ROW(file_write_ordered_begin, .usage = "handle bytes",                                           \
      TISIM_FILE_BEGIN(write, file_write_ordered, true))                                           \
  ROW(file_read_all_end, TISIM_FILE_END(file_read_all))                                            \
  ROW(file_write_all_end, TISIM_FILE_END(file_write_all))                                          \
  ROW(file_read_at_all_end, TISIM_FILE_END(file_read_at_all))                                      \
  ROW(file_write_at_all_end, TISIM_FILE_END(file_write_at_all))                                    \
  ROW(file_read_ordered_end, TISIM_FILE_END(file_read_ordered))                                    \
  ROW(file_write_ordered_end, TISIM_FILE_END(file_write_ordered))

#define TISIM_FILE_REQUEST(call, shared)                                                           \
  .like = Operation::call, .is_shared = shared, .makes_request = true,                             \
  .effect = "the same, non-blocking: a request is pending until it completes"

#define TISIM_FILE_BEGIN(call, whole, shared)                                                      \
  .like = Operation::call, .synchronises = true, .is_shared = shared, .part_of = Operation::whole, \
  .effect = "begins this collective call"

#define TISIM_FILE_END(whole)                                                                      \
  .usage = "handle", .part_of = Operation::whole, .effect = "ends this collective call"

// ROW(operation, properties): one-sided communication. The kind of their operations is `window`.
//
// `form`: the arguments after the window's number. `stores`, `fetches`: data go to, come from the
// target. `combines`: with its data. `makes_request`: creates one, and the rank continues at once.
#define TISIM_WINDOW_CALLS(ROW)                                                                    \
  ROW(win_create, .form = WindowForm::size, TISIM_WINDOW_MADE)                                     \
  ROW(win_allocate, .form = WindowForm::size, TISIM_WINDOW_MADE)                                   \
  ROW(win_allocate_shared, .form = WindowForm::size, TISIM_WINDOW_MADE)                            \
  ROW(win_create_dynamic, .form = WindowForm::alone, TISIM_WINDOW_MADE)                            \
  ROW(win_free, .form = WindowForm::alone,                                                         \
      .effect = "all ranks of the communicator; frees the number")                                 \
  ROW(win_fence, .form = WindowForm::fence,                                                        \
      .effect = "all ranks: completes earlier accesses and begins the next epoch")                 \
  ROW(win_post, .form = WindowForm::group, .effect = "lets these ranks access this rank's part")   \
  ROW(win_start, .form = WindowForm::group, .effect = "waits for the `win_post` of these ranks")   \
  ROW(win_complete, .form = WindowForm::alone, .effect = "ends the epoch that `win_start` began")  \
  ROW(win_wait, .form = WindowForm::alone,                                                         \
      .effect = "waits until all ranks of the `win_post` have completed") \
  ROW(win_lock, .form = WindowForm::lock)                                                          \
  ROW(win_unlock, .form = WindowForm::target, .effect = "completes accesses to the target")        \
  ROW(win_lock_all, .form = WindowForm::alone, .effect = "a shared lock on each rank")             \
  ROW(win_unlock_all, .form = WindowForm::alone)                                                   \
  ROW(win_flush, .form = WindowForm::target, .effect = "completes accesses to the target")         \
  ROW(win_flush_local, .form = WindowForm::target,                                                 \
      .effect = "completes accesses to the target on this rank")                                   \
  ROW(win_flush_all, .form = WindowForm::alone)                                                    \
  ROW(win_flush_local_all, .form = WindowForm::alone)                                              \
  ROW(put, .form = WindowForm::access, .stores = true)                                             \
  ROW(get, .form = WindowForm::access, .fetches = true)                                            \
  ROW(accumulate, .form = WindowForm::access, .stores = true, .combines = true)                    \
  ROW(get_accumulate, .form = WindowForm::access, TISIM_WINDOW_FETCH,                              \
      .effect = "fetches and accumulates")                                                         \
  ROW(fetch_and_op, .form = WindowForm::access, TISIM_WINDOW_FETCH,                                \
      .effect = "the same for one element")                                                        \
  ROW(compare_and_swap, .form = WindowForm::access, .stores = true, .fetches = true,               \
      .effect = "fetches and puts one element, as if the comparison succeeded")                    \
  ROW(rput, .form = WindowForm::access, .stores = true, TISIM_WINDOW_REQUEST)                      \
  ROW(rget, .form = WindowForm::access, .fetches = true, TISIM_WINDOW_REQUEST)                     \
  ROW(raccumulate, .form = WindowForm::access, .stores = true, .combines = true,                   \
      TISIM_WINDOW_REQUEST)                                                                        \
  ROW(rget_accumulate, .form = WindowForm::access, TISIM_WINDOW_FETCH, TISIM_WINDOW_REQUEST)

#define TISIM_WINDOW_MADE                                                                          \
  .effect = "all ranks of the communicator; the number refers to the window until `win_free`"
#define TISIM_WINDOW_FETCH .stores = true, .fetches = true, .combines = true
#define TISIM_WINDOW_REQUEST .makes_request = true

// ROW(action, properties): actions whose operation is a `nop`.
#define TISIM_MARKERS(ROW)                                                                         \
  ROW(init, .form = Form::init,                                                                    \
      .effect = "from here on, the default type is double if there is an argument, else byte")     \
  ROW(finalize, .form = Form::finalize, .effect = "does nothing")                                  \
  ROW(location, .form = Form::location, .effect = "does nothing")                                  \
  ROW(comm_size, .form = Form::ignored, .effect = "does nothing")
// clang-format on

#define TISIM_ENUMERATOR(name, ...) name,

enum class Role : std::uint8_t { TISIM_ROLES(TISIM_ENUMERATOR) };
enum class SendMode : std::uint8_t { TISIM_SEND_MODES(TISIM_ENUMERATOR) };

// The kinds of operations. op.hpp describes the fields of each.
enum class Kind : std::uint8_t { TISIM_KINDS(TISIM_ENUMERATOR) };

// The type of a call: a collective, the creation of a communicator, a custom action, a list of
// requests, an operation on a file.
enum class Operation : std::uint8_t {
  TISIM_COLLECTIVES(TISIM_ENUMERATOR) comm_split,  // arguments: parent, new, color, key
  comm_dup,                                        // arguments: parent, new
  comm_idup,                                       // arguments: parent, new
  comm_group,                                      // arguments: the world (0), new, its ranks
  comm_free,                                       // arguments: the communicator
  custom,                                          // words: the action and its arguments
  requests,                                        // arguments: their numbers
  TISIM_FILE_CALLS(TISIM_ENUMERATOR)               // op.hpp describes their arguments
  TISIM_WINDOW_CALLS(TISIM_ENUMERATOR)             // the same
};

#undef TISIM_ENUMERATOR

struct KindTraits {
  Role role;
  SendMode mode = SendMode::standard;
  bool receives = false;  // a message, or creates a persistent request that does
  bool makes_request = false;
  bool blocks = false;
  Form form = Form::none;
  Operation operation = Operation::barrier;  // of kinds whose call always has the same operation
  std::string_view name = {};                // in messages and event logs; empty: the kind's name
  std::string_view usage = {};
  std::string_view legacy_usage = {};
  std::string_view effect = {};
};

// Whose data ranks need in a collective: of all ranks, of the root, of all at the root, of the
// ranks below, of the listed neighbours.
enum class DataFlow : std::uint8_t { all_to_all, from_root, to_root, chain, neighbours };

struct CollectiveTraits {
  std::string_view name;
  std::string_view non_blocking_name;
  std::string_view usage = {};
  std::string_view effect = {};
  DataFlow flow = DataFlow::all_to_all;
  std::int32_t request_tag = 0;
};

struct FileTraits {
  std::string_view name;
  std::string_view usage = {};
  Operation like = Operation::barrier;  // barrier: the operation itself
  bool synchronises = false;
  bool is_shared = false;
  bool makes_request = false;
  Operation part_of = Operation::barrier;  // barrier: none
  std::string_view effect = {};
};

// The words after the window's number in a call of one-sided communication.
enum class WindowForm : std::uint8_t { alone, size, fence, group, lock, target, access };

struct WindowTraits {
  std::string_view name;
  WindowForm form = WindowForm::alone;
  bool stores = false;
  bool fetches = false;
  bool combines = false;
  bool makes_request = false;
  std::string_view effect = {};
};

constexpr KindTraits named(std::string_view name, KindTraits traits) {
  if (traits.name.empty()) traits.name = name;
  return traits;
}

#define TISIM_TRAITS(kind, ...) named(#kind, KindTraits{__VA_ARGS__}),
inline constexpr KindTraits kKindTraits[] = {TISIM_KINDS(TISIM_TRAITS)};
#undef TISIM_TRAITS
#define TISIM_TRAITS(operation, ...) \
  CollectiveTraits{.name = #operation, .non_blocking_name = "i" #operation, __VA_ARGS__},
inline constexpr CollectiveTraits kCollectiveTraits[] = {TISIM_COLLECTIVES(TISIM_TRAITS)};
#undef TISIM_TRAITS

#define TISIM_TRAITS(operation, ...) FileTraits{.name = #operation, __VA_ARGS__},
inline constexpr FileTraits kFileTraits[] = {TISIM_FILE_CALLS(TISIM_TRAITS)};
#undef TISIM_TRAITS
#define TISIM_TRAITS(operation, ...) WindowTraits{.name = #operation, __VA_ARGS__},
inline constexpr WindowTraits kWindowTraits[] = {TISIM_WINDOW_CALLS(TISIM_TRAITS)};
#undef TISIM_TRAITS

inline constexpr std::size_t kKinds = sizeof kKindTraits / sizeof *kKindTraits;
inline constexpr std::size_t kCollectives = sizeof kCollectiveTraits / sizeof *kCollectiveTraits;
inline constexpr std::size_t kFileCalls = sizeof kFileTraits / sizeof *kFileTraits;
inline constexpr std::size_t kFirstFileCall = static_cast<std::size_t>(Operation::requests) + 1;
inline constexpr std::size_t kWindowCalls = sizeof kWindowTraits / sizeof *kWindowTraits;
inline constexpr std::size_t kFirstWindowCall = kFirstFileCall + kFileCalls;
inline constexpr std::size_t kOperations = kFirstWindowCall + kWindowCalls;
static_assert(static_cast<std::size_t>(Operation::comm_split) == kCollectives);

constexpr const KindTraits& traits_of(Kind kind) {
  return kKindTraits[static_cast<std::size_t>(kind)];
}
// Traits of a collective.
constexpr const CollectiveTraits& traits_of(Operation collective) {
  return kCollectiveTraits[static_cast<std::size_t>(collective)];
}

constexpr Role role_of(Kind kind) { return traits_of(kind).role; }

// True if it sends a message, receives one, or either.
constexpr bool sends(Kind kind) {
  return role_of(kind) == Role::send || role_of(kind) == Role::exchange;
}
constexpr bool receives(Kind kind) {
  return role_of(kind) == Role::receive || role_of(kind) == Role::receive_half;
}
constexpr bool is_point_to_point(Kind kind) { return sends(kind) || receives(kind); }
// True if it waits for the requests that a recorded waitany or waitsome completed.
constexpr bool is_recorded_choice(Kind kind) {
  return kind == Kind::waitany_recorded || kind == Kind::waitsome_recorded;
}
// True if it names one request.
constexpr bool names_one_request(Kind kind) {
  const Role role = role_of(kind);
  return role == Role::complete_one || role == Role::cancel || role == Role::free_request;
}

constexpr bool is_collective(Operation operation) {
  return static_cast<std::size_t>(operation) < kCollectives;
}
constexpr bool is_among_neighbours(Operation operation) {
  return is_collective(operation) && traits_of(operation).flow == DataFlow::neighbours;
}
constexpr bool is_file_call(Operation operation) {
  const auto place = static_cast<std::size_t>(operation);
  return place >= kFirstFileCall && place < kFirstWindowCall;
}
constexpr bool is_window_call(Operation operation) {
  return static_cast<std::size_t>(operation) >= kFirstWindowCall;
}
// Traits of a call of one-sided communication.
constexpr const WindowTraits& window_traits_of(Operation call) {
  return kWindowTraits[static_cast<std::size_t>(call) - kFirstWindowCall];
}
// The arguments of a call with that form.
constexpr std::string_view usage_of(WindowForm form) {
  switch (form) {
    case WindowForm::alone:
      return "window";
    case WindowForm::size:
      return "window bytes";
    case WindowForm::fence:
      return "window [noprecede] [nosucceed]";
    case WindowForm::group:
      return "window rank...";
    case WindowForm::lock:
      return "window target exclusive or shared";
    case WindowForm::target:
      return "window target";
    case WindowForm::access:
      return "window target count [type]";
  }
  return {};
}
// Traits of a call on files.
constexpr const FileTraits& file_traits_of(Operation call) {
  return kFileTraits[static_cast<std::size_t>(call) - kFirstFileCall];
}
// A rank's own action in a call on files, as the equivalent POSIX call if there is one.
constexpr Operation posix_equivalent(Operation call) {
  const Operation like = file_traits_of(call).like;
  return like == Operation::barrier ? call : like;
}
// True if it is the first, or second, step of a split collective call.
constexpr bool begins_split(Operation call) {
  const FileTraits& traits = file_traits_of(call);
  return traits.part_of != Operation::barrier && traits.like != Operation::barrier;
}
constexpr bool ends_split(Operation call) {
  const FileTraits& traits = file_traits_of(call);
  return traits.part_of != Operation::barrier && traits.like == Operation::barrier;
}
// True if the operation's call identifies a collective.
constexpr bool has_collective_call(Kind kind) {
  return kind == Kind::collective || kind == Kind::icollective;
}

// Name of an operation in event logs and messages: that of its action.
std::string_view name_of(Kind kind, Operation operation);

// Kind or operation from an external number. Throws std::out_of_range.
Kind checked_kind(std::int64_t number);
Operation checked_operation(std::int64_t number);

}  // namespace tisim
