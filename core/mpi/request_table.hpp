// Pending requests of all ranks, by key and by the numbers that traces give them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mpi/communicators.hpp"
#include "mpi/matcher.hpp"
#include "mpi/rank.hpp"
#include "mpi/runtime.hpp"
#include "support/pool.hpp"

namespace tisim {

// Requests of MPI: what a rank may wait for or test.

// Flags of operations inserted by the runtime; never set in traces.
// In a wait or test: `bytes` is the index of the request; in a start: of the persistent request. In
// a waitall or waitany: the indices are listed in the rank's optional state.
inline constexpr std::uint8_t kByNumber = 128;
// In a test: ends the test of a non-blocking collective after all its requests were tested.
inline constexpr std::uint8_t kEndsCollectiveTest = 64;
static_assert((kByNumber & kEndsCollectiveTest) == 0 &&
              ((kByNumber | kEndsCollectiveTest) &
               (kContinuation | kNullIsMistaken | kSourceLost | kNumbered)) == 0);

// Returns true if the operation begins, rather than continues, waiting for or testing a list.
inline bool begins_list(const Op& op) {
  return (op.flags & (kNumbered | kContinuation)) == kNumbered;
}

// The part of a non-blocking collective executed after its call (class CollectiveRounds).
struct Rounds {
  std::int32_t rank = -1;
  std::int32_t request = -1;   // the collective's
  std::int32_t schedule = -1;  // the schedule, with its own reference
  std::uint32_t step = 0;      // next operation in the schedule
  std::int32_t left = 0;       // messages of the round in flight
  bool paid = false;           // whether the overheads before the next round have passed
  std::vector<std::int64_t> received = {};  // sizes of its messages with a receive overhead, bytes
};

// The requests of a pending non-blocking collective; -1 for finished ones.
struct StartedCollective {
  std::vector<std::int32_t> requests;  // empty if it has rounds
  std::int32_t number = -1;            // its number in the trace, or -1
  std::unique_ptr<Rounds> rounds;      // null if it has none, or after the last one
};

// The requests of all ranks: which are pending, in which order, and which are complete.
//
// This class only stores requests; `completion.hpp` implements waits and tests.
class RequestTable {
 public:
  RequestTable(const Runtime& runtime, Matcher& matcher, const CommunicatorTable& communicators)
      : runtime_(runtime), matcher_(matcher), communicators_(communicators) {}
  RequestTable(const RequestTable&) = delete;
  RequestTable& operator=(const RequestTable&) = delete;

  Request& operator[](std::int32_t index) { return requests_[index]; }
  const Request& operator[](std::int32_t index) const { return requests_[index]; }
  std::size_t in_use() const { return requests_.in_use(); }
  // Links of a pending request in its lists.
  Listing& listing(std::int32_t index) { return requests_.listing(index); }
  const Listing& listing(std::int32_t index) const { return requests_.listing(index); }

  // Held requests: the request of a blocking collective's schedule, which only its own wait uses,
  // is stored in its message. It has a number below -1 instead of an index in the table. An
  // all-to-all has two per message.
  static bool is_held(std::int32_t request) { return request < -1; }
  static std::int32_t held(std::int32_t message, Side side) { return -2 - (2 * message + side); }
  static std::int32_t message_of(std::int32_t held) { return (-2 - held) >> 1; }
  static Side side_of(std::int32_t held) { return static_cast<Side>((-2 - held) & 1); }

  // Adds a request for the rank's current operation; message -1: nothing to wait for. In a schedule
  // it goes to the operation's slot, a sendrecv awaits it at once, and otherwise it is pending
  // under the key that a later wait or test names.
  void add(Rank& rank, Side side, std::int32_t message);
  // The same for a file access or a window access, which can only be named by its number.
  void add_unnamed(Rank& rank, Side side, std::int32_t message);
  // Adds a request for a message to a window, which no call names but some rank will await.
  std::int32_t add_of_window(std::int32_t message);
  // Makes a rank await it.
  void await_of_window(Rank& rank, std::int32_t index, std::int32_t request);
  // Gives the operation's number to the request that became pending last.
  void number_last(Rank& rank);
  // Gives the number to the request of a non-blocking collective, if it started any.
  void number_collective(Rank& rank, std::int32_t number, bool started);
  // Gives the operation's number to the persistent request made last.
  void number_persistent(Rank& rank);
  // Adds the requests of a non-blocking collective as one pending request with a tag.
  void add_collective(Rank& rank, std::int32_t tag, std::span<const std::int32_t> parts);
  // The same for one with rounds, which is complete after the last round. Returns its index.
  std::int32_t add_rounds(Rank& rank, std::int32_t tag, Rounds rounds);
  // Moves a request of the schedule into the round. Returns false if it is complete; the caller
  // then owns its message, if any.
  bool take_into_round(std::int32_t request, std::int32_t collective);
  // Decrements the remaining parts of a round. After the last one the next round begins as soon as
  // the rank makes progress.
  void count_down(std::int32_t collective);
  // The rank makes progress: begins the next rounds of its collectives.
  void begin_rounds(Rank& rank) {
    if (rank.optional && !rank.optional->due.empty()) begin_due_rounds(*rank.optional);
  }
  // Completes a collective after its last round and wakes the rank if it waits for it.
  void end_rounds(std::int32_t collective);

  // Removes a finished request and frees its number.
  void drop(Rank& rank, std::int32_t request);
  // The same for one that may be held; returns its contents.
  Request take(Rank& rank, std::int32_t request);

  // Returns the request named by a wait or test of the trace, or -1.
  std::int32_t named(Rank& rank);
  // Called when an operation with kNumbered begins to wait for or test its requests. Throws
  // TraceError if no request has one of its numbers.
  void name_requests(Rank& rank);
  // Returns the index of the persistent request of a number, to be started. Throws TraceError.
  std::int32_t find_startable(Rank& rank, std::int32_t number);
  // Returns the pending request of a number, to be cancelled; -1 if it is complete. Throws
  // TraceError.
  std::int32_t find_cancellable(Rank& rank, std::int32_t number);
  // Frees a number and returns the request that had it. Throws TraceError.
  NumberedRequest free_number(Rank& rank, std::int32_t number);
  // Removes an inactive persistent request.
  void free_persistent(Rank& rank, std::int32_t place);
  // Frees a pending request. Returns true if its message is complete; the caller then owns it.
  bool free_pending(Rank& rank, std::int32_t request);
  // At the end of a rank: lists its freed requests as pending again.
  void list_freed(Rank& rank);
  // The numbers listed by an operation with kNumbered.
  std::span<const double> numbers_listed(const Rank& rank) const {
    return runtime_.jobs.call_of(rank).arguments;
  }
  // Calls `accept` for the requests of a waitall, waitany, testall and the like, listed or all
  // pending, in order. Returns the first one accepted, or -1.
  template <class Accept>
  std::int32_t find_listed(const Rank& rank, Accept accept) const {
    if ((rank.op.flags & (kNumbered | kByNumber)) == 0) {
      for (std::int32_t next = -1, at = rank.pending.first; at >= 0; at = next) {
        next = requests_.next(at);
        if (accept(at)) return at;
      }
      return -1;
    }
    if ((rank.op.flags & kByNumber) != 0) {
      for (const std::int32_t at : rank.optional->listed) {
        if (accept(at)) return at;
      }
      return -1;
    }
    for (const double number : numbers_listed(rank)) {
      const std::int32_t at = pending_of(rank, static_cast<std::int32_t>(number));
      if (at >= 0 && accept(at)) return at;
    }
    return -1;
  }
  // Returns the first of them with a message (if `complete`: with one that has arrived).
  std::int32_t first_with_message(const Rank& rank, bool complete) const {
    return find_listed(rank, [&](std::int32_t at) {
      return requests_[at].message >= 0 && (requests_[at].complete || !complete);
    });
  }
  // Returns true if the index is a pending message request of the rank, on its world.
  bool is_pending_message(const Rank& rank, std::int32_t index) const;
  // The parts of a pending non-blocking collective.
  StartedCollective& collective(std::int32_t origin) { return collectives_[origin]; }
  const StartedCollective& collective(std::int32_t origin) const { return collectives_[origin]; }

  // Adds a request to those the rank awaits; one without a message is finished at once.
  void await(Rank& rank, std::int32_t request);
  // Stops awaiting a request, without finishing it.
  void stop_awaiting(Rank& rank, std::int32_t request);
  // Removes the first posted of the complete awaited requests and returns it; -1 if none is
  // complete.
  std::int32_t take_complete(Rank& rank);
  // Marks a request as complete, as its message has arrived, and wakes a waiting rank. Returns true
  // if no rank will ever wait for it; the caller then owns the message.
  bool complete(std::int32_t request, std::int32_t rank);
  // The same for a held request.
  void complete_held(std::int32_t message, Side side);

  // Checks lists, counters and the index. Throws BrokenInvariant.
  void verify() const;

 private:
  friend struct RequestTableTesting;  // corrupts the state to test `verify`

  // Appends a request to the pending ones, on the operation's communicator.
  void list(Rank& rank, std::int32_t request, const RequestKey& key) {
    requests_.list(rank.pending, rank.first + rank.number, request, key, rank.op.comm);
  }
  void hold(Rank& rank, Side side, std::int32_t message);
  void await_held(Rank& rank, std::int32_t request);
  bool is_awaited(const Message& message, Side side) const;
  void register_wait(std::int32_t message, Side side);
  void push_complete(Rank& rank, std::int32_t request);
  bool wake_awaiting(Rank& rank, std::int32_t request);
  void leave_round(std::int32_t request);
  void begin_due_rounds(OptionalRankState& state);
  std::int32_t by_index(const Op& op) const;
  static std::int32_t pending_of(const Rank& rank, std::int32_t number) {
    return rank.optional ? rank.optional->numbers.pending(number) : -1;
  }
  NumberedRequest& given(Rank& rank, std::int32_t number);
  void refuse_collective(const Rank& rank, std::int32_t number, std::int32_t pending) const;
  void unlist(Rank& rank, std::int32_t request);
  void unlink_freed(Rank& rank, std::int32_t request);
  void verify_freed(const Rank& rank) const;
  NumberedRequest& give_number(Rank& rank, std::int32_t number);
  void detach_number(Rank& rank, std::int32_t request);
  void name_request(Rank& rank, std::int32_t number, bool waits);
  void forget_origin(Rank& rank, const Request& request);
  void verify(const Rank& rank) const;
  std::uint32_t order_of(std::int32_t request) const {
    if (!is_held(request)) return requests_[request].order;
    const Message& message = matcher_.message(message_of(request));
    return static_cast<std::uint32_t>(message.request[side_of(request)]);
  }
  auto posted_later() const {
    return [this](std::int32_t a, std::int32_t b) { return order_of(a) > order_of(b); };
  }

  Runtime runtime_;
  Matcher& matcher_;
  const CommunicatorTable& communicators_;
  PendingRequests requests_;
  Pool<StartedCollective> collectives_;
};

}  // namespace tisim
