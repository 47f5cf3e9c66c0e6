// The state of one rank: its position in the trace, its waits and its statistics.
//
// A single record, because every operation touches most of it. Each part names the class that
// maintains it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "support/stack.hpp"
#include "trace/reader.hpp"
#include "trace/requests/pending_requests.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// The activity of a rank: the part of its operation that follows when it is woken.
enum class Phase : std::uint8_t {
  idle,                  // externally driven, without an operation
  between_operations,    // the next operation comes from its trace or schedule
  posted,                // an operation was posted by its driver
  initialising,          // duration of MPI_Init
  computing,             //
  sleeping,              //
  send_overhead,         // before a send is posted
  waiting,               // waits for one message
  receive_overhead,      // after a receive
  waiting_all,           // waits for all awaited requests; none of the remaining is complete
  completing_all,        // one of them is complete, or its overhead is paid
  testing,               // duration of a test
  tested,                // the result follows those of the same instant
  waiting_any,           // waits for one of the awaited requests
  completing_any,        // one of them is complete
  probing,               // duration of a probe
  probed,                // the result follows those of the same instant
  waiting_for_any_send,  // a free probe: waits until a message is sent to the rank
  synchronising,         // waits for the other ranks before a collective
  leaving,               // leaves a barrier with a delay, before a rendezvous
  needs_schedule,        // Python is asked for the schedule of a collective
  needs_route,           // Python is asked for a route, then the send is posted again
  needs_disk,            // Python is asked which disk stores a file, then the file is opened
  needs_server,          // Python is asked for a route to a server of a file system
  accessing,             // reads from or writes to a disk, or waits for a file system
  in_window,             // in a window call: waits for other ranks, pays for it, or needs a route
  custom,                // Python executes an action
  launching,             // Python is asked for a block, which the rank then launches on its GPU
  finished,              //
  not_started,           // starts later
  dying,                 // killed at this instant
  dead                   // killed before
};
// Returns true if a rank in the phase is inside a call in which its library makes progress: it
// waits, tests or probes.
bool makes_progress(Phase phase);

// Stages of the creation of a communicator (communicator_creation.hpp), and of a collective read or
// write executed by an algorithm (io/file/collective_transfers.hpp).
enum class Stage : std::uint8_t {
  none,
  colors,   // rank 0 gathers the colors and keys
  groups,   // rank 0 sends the new communicators; the other ranks do both steps here
  number,   // the ranks of each new communicator agree on its number
  parts,    // the ranks exchange their requests to a file
  transfer  // and move the data
};

// A communicator of a rank, with its id in the trace.
struct Membership {
  std::uint16_t id = 0;
  std::int32_t comm = 0;    // index
  std::int32_t number = 0;  // rank in the communicator
};

// Progress of reading traces.
struct TraceProgress {
  std::uint64_t actions = 0;
  std::uint64_t bytes = 0;  // bytes of their files, as counted by RankReader
};

// The operation of a collective or a communicator creation: the part needed while a schedule
// executes it.
struct CollectiveOp {
  std::uint32_t call = 0, line = 0;
  std::uint16_t comm = 0;
  Kind kind = Kind::collective;
  std::uint8_t flags = 0;

  CollectiveOp() = default;
  explicit CollectiveOp(const Op& op)
      : call(static_cast<std::uint32_t>(op.call)),
        line(op.line),
        comm(op.comm),
        kind(op.kind),
        flags(op.flags) {}

  Op op() const {
    Op op;
    op.kind = kind;
    op.flags = flags;
    op.comm = comm;
    op.call = call;
    op.line = line;
    return op;
  }
};

// Per-rank state that few traces need, allocated on demand.
struct OptionalRankState {
  Stack<Membership> comms;              // class CommunicatorTable
  Stack<PersistentRequest> persistent;  // class PersistentRequests
  RequestNumbers numbers;               // class RequestTable
  std::int32_t free_persistent = -1;    // head of the free list in `persistent`
  std::int32_t made_persistent = -1;    // index of the last request made there
  std::int32_t freed_first = -1;  // class RequestTable: freed requests with messages in flight
  Stack<std::int32_t> listed;     // requests of a driven rank's operation
  std::int32_t taken = -1;        // request completed by its waitany
  Stack<std::int32_t> due;        // class RequestTable: collectives whose round has ended
};

// There may be a million of them.
struct Rank {
  // Position
  std::int32_t host = 0;
  std::int32_t job = 0;
  std::int32_t first = 0;   // first rank of its job
  std::int32_t number = 0;  // rank in its job
  Phase phase = Phase::between_operations;
  bool driven = false;          // operations are posted one by one by a driver
  bool final_barrier = false;   // the barrier in its finalize has begun
  Stage stage = Stage::none;    // stage of `collective`, when it creates a communicator
  Side waiting_side = kSender;  // side of the message `waiting`
  bool probed_twice = false;    // class Probes
  bool woken_to_probe = false;  // a message was sent to it, and its waiting probe will look again
  bool trace_closed = false;    // the trace is not read any further, the reader is closed
  bool lost_type = false;       // whether its trace had a type of unknown width
  std::int32_t context = 0;     // context of its job's world
  Op op;                        // current operation
  double since = 0.0;           // start of the operation or its computation, seconds

  // Source of its operations (class OperationSource, class Collectives)
  std::unique_ptr<RankReader> reader;
  Stack<Op> buffer;
  std::uint32_t cursor = 0;    // next operation in `buffer`
  CollectiveOp collective;     // the collective that `schedule` executes
  std::int32_t schedule = -1;  // the schedule
  std::uint32_t step = 0;      // next step of the schedule
  std::uint32_t epoch = 0;     // incremented to invalidate the schedules of earlier calls
  std::int32_t starting = -1;  // the persistent request started by the current operation
  Stack<std::int32_t> slots;   // requests of the schedule
  std::unique_ptr<OptionalRankState> optional;

  // Current wait (class RequestTable, class PointToPoint)
  Stack<std::int32_t> ready;  // complete awaited requests, a heap by order of posting
  std::int32_t waiting = -1;  // a message; in a waitany: the complete request
  std::int32_t awaited = 0;   // number of requests not finished yet
  PendingList pending;        // pending requests

  // Statistics
  double finish = 0.0, compute = 0.0, other = 0.0;  // seconds
  std::uint64_t actions = 0, messages_sent = 0;
  std::int64_t bytes_sent = 0;
  TraceProgress counted;         // part already counted in the simulation's progress
  std::uint64_t bytes_read = 0;  // bytes of its file, up to the end of the buffer

  // Estimate of the bytes of its file already executed.
  double bytes_done() const;
  // Inserts operations before the remaining ones.
  void insert(std::span<const Op> ops);
  // Closes the reader at the end of the trace.
  void close_reader();
  // Discards the rest of the trace.
  void close_trace();

  OptionalRankState& optional_state() {
    if (!optional) optional = std::make_unique<OptionalRankState>();
    return *optional;
  }
  std::span<PersistentRequest> persistent() const {
    if (!optional) return {};
    return {optional->persistent.begin(), optional->persistent.end()};
  }
  std::span<const Membership> comms() const {
    if (!optional) return {};
    return {optional->comms.begin(), optional->comms.end()};
  }
};
static_assert(sizeof(Rank) <= 256);

inline bool is_dead(const Rank& rank) {
  return rank.phase == Phase::dying || rank.phase == Phase::dead;
}

}  // namespace tisim
