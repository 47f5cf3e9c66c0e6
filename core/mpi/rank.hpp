// The state of one rank: where it is in its trace, what it waits for, what it has done.
//
// One record for all that is known of a rank, because every operation touches most of it. Which
// class answers for which part stands beside the part.
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

// The activity of a rank: which part of its operation follows when it is woken.
enum class Phase : std::uint8_t {
  idle,                  // driven from outside, nothing to do
  between_operations,    // the next one comes from its trace or schedule
  posted,                // an operation came from outside
  initialising,          // the time that MPI_Init takes
  computing,             //
  sleeping,              //
  send_overhead,         // before a send is posted
  waiting,               // for one message
  receive_overhead,      // after a receive
  waiting_all,           // for all awaited requests; none of those left is complete
  completing_all,        // one of them is complete, or its overhead is paid
  testing,               // the time that a test takes
  tested,                // its answer comes after those of the same instant
  waiting_any,           // for one of the awaited requests
  completing_any,        // that one is complete
  probing,               // the time that a probe takes
  probed,                // its answer comes after those of the same instant
  waiting_for_any_send,  // a probe that takes no time: until a message is sent to the rank
  synchronising,         // waits for the others before a collective
  leaving,               // notices late that a barrier is over, before a rendezvous
  needs_schedule,        // Python is asked for the schedule of a collective
  needs_route,           // Python is asked for a route, the send is posted again afterwards
  needs_disk,            // Python is asked which disk holds a file, which is then opened
  needs_server,          // Python is asked for a route to a server of a file system
  accessing,             // reads from a disk or writes to it, or waits for a file system
  in_window,             // waits for others in a call on a window, pays for it, or needs a route
  custom,                // Python carries out an action
  launching,             // Python is asked for a block, which the rank launches on its GPU
  finished,              //
  not_started,           // starts later
  dying,                 // killed at this instant
  dead                   // killed before
};
// True if a rank in the phase is inside a call in which its library makes progress: it waits, tests
// or probes.
bool makes_progress(Phase phase);

// Stages of the creation of a communicator (communicator_creation.hpp), and of a collective read or
// write that an algorithm carries out (io/file/collective_transfers.hpp).
enum class Stage : std::uint8_t {
  none,
  colors,   // rank 0 gathers the colors and keys
  groups,   // and tells the other ranks (for these: both) their new communicators
  number,   // the ranks of each new communicator agree on its number
  parts,    // the ranks tell each other what they want of a file
  transfer  // and move it
};

// The name in a trace of a communicator that its rank is in.
struct Membership {
  std::uint16_t id = 0;
  std::int32_t comm = 0;    // index
  std::int32_t number = 0;  // of the rank in it
};

// How far traces have been read.
struct TraceProgress {
  std::uint64_t actions = 0;
  std::uint64_t bytes = 0;  // of their files, as RankReader counts them
};

// The operation of a collective, or of the making of a communicator: what is needed of it while a
// schedule carries it out.
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
  std::int32_t free_persistent = -1;    // the first free place in `persistent`
  std::int32_t made_persistent = -1;    // the request there that was made last
  std::int32_t freed_first = -1;        // class RequestTable: requests that nobody waits for
  Stack<std::int32_t> listed;           // of an operation from outside that is about some requests
  std::int32_t taken = -1;              // the request that its waitany has completed
  Stack<std::int32_t> due;              // class RequestTable: collectives whose round is over
};

// There may be a million of them.
struct Rank {
  // Where it is
  std::int32_t host = 0;
  std::int32_t job = 0;
  std::int32_t first = 0;   // of the ranks of its job
  std::int32_t number = 0;  // in its job
  Phase phase = Phase::between_operations;
  bool driven = false;          // operations come from outside, one by one
  bool final_barrier = false;   // the barrier that ends it has begun
  Stage stage = Stage::none;    // of `collective`, when that makes a communicator
  Side waiting_side = kSender;  // of the message `waiting`
  bool probed_twice = false;    // class Probes
  bool woken_to_probe = false;  // a message was sent to it, and its waiting probe looks again
  bool trace_closed = false;    // nothing more is read of its trace, its reader is gone
  bool lost_type = false;       // and had a type of unknown width
  std::int32_t context = 0;     // of its job's world
  Op op;                        // being executed
  double since = 0.0;           // seconds, when the operation began, or its computation

  // Where its operations come from (class OperationSource, class Collectives)
  std::unique_ptr<RankReader> reader;
  Stack<Op> buffer;
  std::uint32_t cursor = 0;    // of the buffer's operations, the next one
  CollectiveOp collective;     // that a schedule carries out
  std::int32_t schedule = -1;  // the schedule
  std::uint32_t step = 0;      // in the schedule
  std::uint32_t epoch = 0;     // raised when the schedules of earlier calls are no longer good
  std::int32_t starting = -1;  // the persistent request whose start the operation is
  Stack<std::int32_t> slots;   // requests of the schedule
  std::unique_ptr<OptionalRankState> optional;

  // The object of its wait (class RequestTable, class PointToPoint)
  Stack<std::int32_t> ready;  // complete ones among the awaited, a heap on the order of posting
  std::int32_t waiting = -1;  // a message; in a waitany: the request that is complete
  std::int32_t awaited = 0;   // requests that are still to be finished
  PendingList pending;        // requests

  // Its work so far
  double finish = 0.0, compute = 0.0, other = 0.0;  // seconds
  std::uint64_t actions = 0, messages_sent = 0;
  std::int64_t bytes_sent = 0;
  TraceProgress counted;         // what the progress of the simulation has of it
  std::uint64_t bytes_read = 0;  // of its file, up to the end of the buffer

  // Bytes of its file that it has done, as nearly as is known.
  double bytes_done() const;
  // Puts operations before those that the rank has not executed yet.
  void insert(std::span<const Op> ops);
  // The reader has come to the end of the trace.
  void close_reader();
  // Nothing more is done.
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
