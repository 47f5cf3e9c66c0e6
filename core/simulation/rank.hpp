// The state of one rank: where it is in its trace, what it waits for, what it has done.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/matcher.hpp"
#include "trace/vocabulary/op.hpp"
#include "support/stack.hpp"
#include "trace/reader.hpp"

namespace tisim {

// What a rank is doing; the part of its operation that follows when it is woken.
enum class Phase : std::uint8_t {
  idle,      // driven from outside, nothing to do
  next,      // between two operations
  posted,    // an operation came from outside
  starting,  // before its first operation
  computing,
  sleeping,
  injecting_send,     // the overhead before a send is posted
  waiting,            // for one message
  injecting_receive,  // the overhead after a receive
  waiting_all,        // for any of the awaited requests
  finishing_all,      // one of them is complete, or its overhead is paid
  testing,            // the time that a test takes
  tested,             // its answer comes after those of the same instant
  waiting_any,        // for one of the awaited requests
  finishing_any,      // that one is complete
  probing,            // the time that a probe takes
  probed,             // as `tested`
  looking,            // for a message, where a probe takes no time
  meeting,            // waits for the others before a collective
  needs_schedule,     // Python is asked for the schedule of a collective
  needs_route,        // Python is asked for a route, the send is posted again afterwards
  custom,             // Python carries out an action
  finished,
  unborn,  // starts later
  killed,  // at this instant
  dead     // before
};

// In a wait or test: `bytes` is the number of the request; in a start: of the persistent one.
inline constexpr std::uint8_t kByNumber = 128;
// In a test: it ends the test of a non-blocking collective, all of whose requests were tested.
inline constexpr std::uint8_t kVerdict = 64;

enum class RequestType : std::uint8_t { message, persistent, collective };

// A pending request of a rank, or one of a collective's schedule. There may be millions of them.
struct Request {
  std::int32_t message = -1;                          // -1: there is nothing to wait for
  std::int32_t next = -1, previous = -1;              // in the order of posting
  std::int32_t source = 0, destination = 0, tag = 0;  // the key, as the trace names it
  std::uint32_t order = 0;
  std::int32_t origin = -1;  // number of the rank's persistent request, or of the collective's
  std::uint16_t comm = 0;
  Side side = kSender;
  RequestType type : 2 = RequestType::message;
  bool complete : 1 = false;
  bool awaited : 1 = false;      // by the waitall that the rank is in
  bool listed : 1 = false;       // among the rank's pending requests
  bool source_lost : 1 = false;  // whoever waits for it may name any source
};
static_assert(sizeof(Request) == 36);

// A request that can be started again and again: what it does, its key in the usual place.
struct PersistentRequest {
  Op op;
  bool active = false;
};

// A non-blocking collective that is pending: its requests, -1 for those that are finished.
struct StartedCollective {
  std::vector<std::int32_t> requests;
};

// How far traces have been followed.
struct Headway {
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

// What a trace has made for its rank, as few do.
struct Belongings {
  Stack<Membership> comms;
  Stack<PersistentRequest> persistent;
};

// There may be a million of them.
struct Rank {
  // Where it is
  std::int32_t host = 0;
  std::int32_t job = 0;
  std::int32_t first = 0;   // of the ranks of its job
  std::int32_t number = 0;  // in its job
  Phase phase = Phase::next;
  bool driven = false;            // operations come from outside, one by one
  bool synchronised_end = false;  // the barrier that ends it has begun
  Stage stage = Stage::none;      // of `collective`, when that makes a communicator
  Side waiting_side = kSender;    // of the message `waiting`
  bool looked_twice = false;      // in a probe
  bool indexed = false;           // there is an index of its pending requests
  bool read_out = false;          // nothing more is read of its trace, its reader is gone
  bool lost_type = false;         // and had a type of unknown width
  std::int32_t context = 0;       // of its job's world
  Op op;                          // being executed
  double since = 0.0;             // when the operation began, or its computation

  // Where its operations come from
  std::unique_ptr<RankReader> reader;
  Stack<Op> buffer;
  std::uint32_t cursor = 0;    // of the buffer's operations, the next one
  CollectiveOp collective;     // that a schedule carries out
  std::int32_t schedule = -1;  // the schedule
  std::uint32_t step = 0;      // in the schedule
  std::uint32_t epoch = 0;     // raised when the schedules of earlier calls are no longer good
  std::int32_t origin = -1;    // of its next request
  Stack<std::int32_t> slots;   // requests of the schedule
  std::unique_ptr<Belongings> belongings;

  // What it waits for
  Stack<std::int32_t> ready;  // complete ones among the awaited, a heap on the order of posting
  std::int32_t waiting = -1;  // a message; in a waitany: the request that is complete
  std::int32_t awaited = 0;   // requests that are still to be finished
  std::int32_t pending_first = -1, pending_last = -1;
  std::uint32_t request_order = 0;
  std::int32_t pending_collectives = 0;

  // What it has done
  double finish = 0.0, compute = 0.0, other = 0.0;  // seconds
  std::uint64_t actions = 0, messages_sent = 0;
  std::int64_t bytes_sent = 0;
  Headway counted;               // what the headway of the simulation has of it
  std::uint64_t bytes_read = 0;  // of its file, up to the end of the buffer

  // Bytes of its file that it has done, as nearly as is known.
  double bytes_done() const {
    const double part = buffer.empty() ? 0.0 : cursor / static_cast<double>(buffer.size());
    const auto before = static_cast<double>(counted.bytes);
    return before + (static_cast<double>(bytes_read) - before) * part;
  }
  // The reader has come to the end of the trace.
  void let_go_of_reader() {
    if (!reader) return;
    read_out = true;
    lost_type = reader->uses_lost_type();
    reader.reset();
  }
  // Nothing more is done.
  void let_go_of_trace() {
    counted.bytes = bytes_read = static_cast<std::uint64_t>(bytes_done());
    let_go_of_reader();
    buffer = {};
    cursor = 0;
  }

  Belongings& its_own() {
    if (!belongings) belongings = std::make_unique<Belongings>();
    return *belongings;
  }
  std::span<PersistentRequest> persistent() const {
    if (!belongings) return {};
    return {belongings->persistent.begin(), belongings->persistent.end()};
  }
  std::span<const Membership> comms() const {
    if (!belongings) return {};
    return {belongings->comms.begin(), belongings->comms.end()};
  }
};
static_assert(sizeof(Rank) <= 256);

inline bool is_dead(const Rank& rank) {
  return rank.phase == Phase::killed || rank.phase == Phase::dead;
}

}  // namespace tisim
