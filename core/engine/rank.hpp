// The state of one rank: where it is in its trace, what it waits for, what it has done.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/communicator.hpp"
#include "engine/matcher.hpp"
#include "op.hpp"
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

// A pending request of a rank, or one of a collective's schedule.
struct Request {
  std::int32_t message = -1;                          // -1: there is nothing to wait for
  std::int32_t next = -1, previous = -1;              // in the order of posting
  std::int32_t source = 0, destination = 0, tag = 0;  // the key, as the trace names it
  std::uint32_t order = 0;
  std::int32_t origin = -1;  // number of the rank's persistent request, or of the collective's
  std::uint16_t comm = 0;
  std::uint8_t side = 0;
  RequestType type = RequestType::message;
  bool complete = false;
  bool awaited = false;      // by the waitall that the rank is in
  bool listed = false;       // among the rank's pending requests
  bool source_lost = false;  // whoever waits for it may name any source
};

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
  Op op;                          // being executed
  double since = 0.0;             // when the operation began, or its computation

  // Where its operations come from
  std::unique_ptr<RankReader> reader;
  std::vector<Op> buffer;
  std::uint32_t cursor = 0, filled = 0;
  std::int32_t context = 0;    // of its job's world
  std::int32_t schedule = -1;  // of the collective it is in
  Op collective;               // the call that the schedule carries out
  std::uint64_t formation = 0;
  std::vector<Membership> comms;    // that its trace has made
  std::vector<std::int32_t> slots;  // requests of the schedule
  std::uint32_t step = 0;           // in the schedule
  std::uint32_t epoch = 0;          // raised when the schedules of earlier calls are no longer good

  // What it waits for
  std::int32_t waiting = -1;        // a message; in a waitany: the request that is complete
  std::int32_t awaited = 0;         // requests that are still to be finished
  std::vector<std::int32_t> ready;  // complete ones among them, a heap on the order of posting
  std::int32_t pending_first = -1, pending_last = -1;
  std::uint32_t request_order = 0;
  std::int32_t pending_collectives = 0;
  std::vector<PersistentRequest> persistent;
  std::int32_t origin = -1;  // of the next request

  // What it has done
  double finish = 0.0, compute = 0.0, other = 0.0;  // seconds
  std::uint64_t actions = 0, messages_sent = 0;
  std::int64_t bytes_sent = 0;
  Headway counted;  // what the headway of the simulation has of it
};

inline bool is_dead(const Rank& rank) {
  return rank.phase == Phase::killed || rank.phase == Phase::dead;
}

}  // namespace tisim
