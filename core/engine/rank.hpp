// The state of one rank: where it is in its trace, what it waits for, what it has done.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/matcher.hpp"
#include "op.hpp"
#include "trace/reader.hpp"

namespace tisim {

// What a rank is doing; the part of its operation that follows when it is woken.
enum class Phase : std::uint8_t {
  idle,    // driven from outside, nothing to do
  next,    // between two operations
  posted,  // an operation came from outside
  computing,
  sleeping,
  injecting_send,     // the overhead before a send is posted
  waiting,            // for one message
  injecting_receive,  // the overhead after a receive
  waiting_all,        // for any of the awaited requests
  finishing_all,      // one of them is complete, or its overhead is paid
  testing,            // the time that a test takes
  tested,             // its answer comes after those of the same instant
  probing,
  needs_schedule,  // Python is asked for the schedule of a collective
  needs_route,     // Python is asked for a route, the send is posted again afterwards
  custom,          // Python carries out an action
  finished
};

// In a wait from outside: `bytes` is the number of the request.
inline constexpr std::uint8_t kByNumber = 128;

// A pending request of a rank, or one of a collective's schedule.
struct Request {
  std::int32_t message = -1;                          // -1: there is nothing to wait for
  std::int32_t next = -1, previous = -1;              // in the order of posting
  std::int32_t source = 0, destination = 0, tag = 0;  // the key, as the trace names it
  std::uint32_t order = 0;
  std::uint16_t comm = 0;
  std::uint8_t side = 0;
  bool complete = false;
  bool awaited = false;  // by the waitall that the rank is in
  bool listed = false;   // among the rank's pending requests
};

// Operations that are executed one after the other: a collective of one rank.
struct Schedule {
  std::vector<Op> ops;
  std::int32_t slots = 0;  // requests it uses
  std::int32_t context = 0;
  std::uint32_t epoch = 0;  // of its rank; it is good in that epoch only
};

// How far traces have been followed.
struct Headway {
  std::uint64_t actions = 0;
  std::uint64_t bytes = 0;  // of their files, as RankReader counts them
};

struct Rank {
  // Where it is
  std::int32_t host = 0;
  std::int32_t job = 0;
  std::int32_t first = 0;   // of the ranks of its job
  std::int32_t number = 0;  // in its job
  Phase phase = Phase::next;
  bool driven = false;  // operations come from outside, one by one
  Op op;                // being executed
  Op half;              // the receiving half of a sendrecv
  double since = 0.0;   // when the operation began, or its computation

  // Where its operations come from
  std::unique_ptr<RankReader> reader;
  std::vector<Op> buffer;
  std::uint32_t cursor = 0, filled = 0;
  std::int32_t schedule = -1;       // of the collective it is in
  Op collective;                    // the call that the schedule carries out
  std::uint32_t step = 0;           // in the schedule
  std::vector<std::int32_t> slots;  // its requests
  std::uint32_t epoch = 0;          // raised when the schedules of earlier calls are no longer good

  // What it waits for
  std::int32_t waiting = -1;  // a message
  Side waiting_side = kSender;
  std::int32_t awaited = 0;         // requests that are still to be finished
  std::vector<std::int32_t> ready;  // complete ones among them, a heap on the order of posting
  std::int32_t pending_first = -1, pending_last = -1;
  std::uint32_t request_order = 0;

  // What it has done
  double finish = 0.0, compute = 0.0, other = 0.0;  // seconds
  std::uint64_t actions = 0, messages_sent = 0;
  std::int64_t bytes_sent = 0;
  Headway counted;  // what the headway of the simulation has of it
};

}  // namespace tisim
