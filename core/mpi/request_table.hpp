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

// Flags of an operation that the runtime inserts; traces have none of these.
// In a wait or test: `bytes` is the index of the request; in a start: of the persistent one. In a
// waitall or waitany: the indexes are listed in the rank's optional state.
inline constexpr std::uint8_t kByNumber = 128;
// In a test: it ends the test of a non-blocking collective, all of whose requests were tested.
inline constexpr std::uint8_t kEndsCollectiveTest = 64;
static_assert((kByNumber & kEndsCollectiveTest) == 0 &&
              ((kByNumber | kEndsCollectiveTest) &
               (kContinuation | kNullIsMistaken | kSourceLost | kNumbered)) == 0);

// True where the wait for a list of requests, or a test of it, begins rather than goes on.
inline bool begins_list(const Op& op) {
  return (op.flags & (kNumbered | kContinuation)) == kNumbered;
}

// The part of a non-blocking collective carried out after its call (class CollectiveRounds).
struct Rounds {
  std::int32_t rank = -1;
  std::int32_t request = -1;   // the collective's
  std::int32_t schedule = -1;  // its own share of it
  std::uint32_t step = 0;      // the next operation in that
  std::int32_t left = 0;       // messages of the round that are under way
  bool paid = false;           // the overheads between the round and the next one have passed
  std::vector<std::int64_t> received = {};  // bytes of its messages whose receipt costs one
};

// The requests that a pending non-blocking collective is made of; -1 for those that are finished.
struct StartedCollective {
  std::vector<std::int32_t> requests;  // none: it has rounds
  std::int32_t number = -1;            // by which the trace names it, -1: none
  std::unique_ptr<Rounds> rounds;      // null: it has none, or the last one is over
};

// The requests of all ranks: which are pending, in which order, and which are complete.
//
// Whoever waits or tests is in `point_to_point/waits.hpp` and `completion.hpp`; here is only
// what a request is and where it stands.
class RequestTable {
 public:
  RequestTable(const Runtime& runtime, Matcher& matcher, const CommunicatorTable& communicators)
      : runtime_(runtime), matcher_(matcher), communicators_(communicators) {}
  RequestTable(const RequestTable&) = delete;
  RequestTable& operator=(const RequestTable&) = delete;

  Request& operator[](std::int32_t index) { return requests_[index]; }
  const Request& operator[](std::int32_t index) const { return requests_[index]; }
  std::size_t in_use() const { return requests_.in_use(); }
  // The place of a pending request in lists.
  Listing& listing(std::int32_t index) { return requests_.listing(index); }
  const Listing& listing(std::int32_t index) const { return requests_.listing(index); }

  // The request of a blocking collective's schedule, which nobody but its wait asks for, is held by
  // its message: it has a number below -1 instead of a place in the table. An all-to-all has two
  // for each message.
  static bool is_held(std::int32_t request) { return request < -1; }
  static std::int32_t held(std::int32_t message, Side side) { return -2 - (2 * message + side); }
  static std::int32_t message_of(std::int32_t held) { return (-2 - held) >> 1; }
  static Side side_of(std::int32_t held) { return static_cast<Side>((-2 - held) & 1); }

  // A new request for the operation that the rank executes; message -1: nothing to wait for. In a
  // schedule it goes to the operation's slot, a sendrecv awaits it at once, and otherwise it is
  // pending under the key that a later wait or test names.
  void add(Rank& rank, Side side, std::int32_t message);
  // The same for a read or write of a file, or an access of a window, which only its number names.
  void add_unnamed(Rank& rank, Side side, std::int32_t message);
  // A request for a message to a window, which no call names; some rank will wait for it.
  std::int32_t add_of_window(std::int32_t message);
  // A rank waits for it.
  void await_of_window(Rank& rank, std::int32_t index, std::int32_t request);
  // The request that became pending last is the one of the operation's number.
  void number_last(Rank& rank);
  // The request of a non-blocking collective has the number, if it has started any.
  void number_collective(Rank& rank, std::int32_t number, bool started);
  // The persistent request that was made last is the one of the operation's number.
  void number_persistent(Rank& rank);
  // The requests of a non-blocking collective are pending as one, under a tag.
  void add_collective(Rank& rank, std::int32_t tag, std::span<const std::int32_t> parts);
  // The same for one with rounds, which is not complete before the last of them is over. Its index.
  std::int32_t add_rounds(Rank& rank, std::int32_t tag, Rounds rounds);
  // A request of the schedule becomes one of the round. False: it is complete, and its message, if
  // it has one, is the caller's.
  bool take_into_round(std::int32_t request, std::int32_t collective);
  // One thing less is left of a round; after the last one the next round begins as soon as the rank
  // makes progress.
  void count_down(std::int32_t collective);
  // The rank makes progress: the next rounds of its collectives begin.
  void begin_rounds(Rank& rank) {
    if (rank.optional && !rank.optional->due.empty()) begin_due_rounds(*rank.optional);
  }
  // The last round is over: whoever waits for the collective goes on.
  void end_rounds(std::int32_t collective);

  // The request is finished: its number is free.
  void drop(Rank& rank, std::int32_t request);
  // The same for one that may be held; what it was.
  Request take(Rank& rank, std::int32_t request);

  // The request that a wait or test of the trace is about, -1: none.
  std::int32_t named(Rank& rank);
  // The operation, which is kNumbered, begins: its requests are waited for or tested. Throws
  // TraceError when no request has one of its numbers.
  void name_requests(Rank& rank);
  // The place of the persistent request of a number, which is to be started. Throws TraceError.
  std::int32_t to_start(Rank& rank, std::int32_t number);
  // The pending request of a number, which is to be cancelled; -1: it was complete before. Throws
  // TraceError.
  std::int32_t to_cancel(Rank& rank, std::int32_t number);
  // Frees a number; returns the request that had it. Throws TraceError.
  NumberedRequest free_number(Rank& rank, std::int32_t number);
  // Removes the persistent request at a place, which is not active.
  void free_persistent(Rank& rank, std::int32_t place);
  // Nobody names the pending request any more. True: its message is complete, and the caller's.
  bool leave_to_itself(Rank& rank, std::int32_t request);
  // The rank has come to its end: what nobody waited for is pending again.
  void list_freed(Rank& rank);
  // The numbers in the list of an operation that is kNumbered.
  std::span<const double> numbers_listed(const Rank& rank) const {
    return runtime_.jobs.call_of(rank).arguments;
  }
  // Calls `accept` for the requests that a waitall, waitany, testall or the like is about, those
  // that it lists or all that are pending, in their order. The first one accepted; -1: none.
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
  // The first of them that waits for a message (if `complete`: for one that has arrived).
  std::int32_t first_with_message(const Rank& rank, bool complete) const {
    return find_listed(rank, [&](std::int32_t at) {
      return requests_[at].message >= 0 && (requests_[at].complete || !complete);
    });
  }
  // True if a number is that of a message's request that is pending on a rank of a world.
  bool is_pending_message(const Rank& rank, std::int32_t index) const;
  // The parts of a pending non-blocking collective.
  StartedCollective& collective(std::int32_t origin) { return collectives_[origin]; }
  const StartedCollective& collective(std::int32_t origin) const { return collectives_[origin]; }

  // Puts a request among those that the rank waits for; one without a message is finished at once.
  void await(Rank& rank, std::int32_t request);
  // Takes it out again, not finished.
  void stop_awaiting(Rank& rank, std::int32_t request);
  // The first posted of the awaited requests that are complete, which is awaited no longer; -1:
  // none is complete.
  std::int32_t take_complete(Rank& rank);
  // The message of a request has arrived: whoever waits for it goes on. True: nobody ever will, and
  // the message is the caller's.
  bool complete(std::int32_t request, std::int32_t rank);
  // The same for a held request.
  void complete_held(std::int32_t message, Side side);

  // Lists, counters and the index agree. Throws BrokenInvariant.
  void verify() const;

 private:
  friend struct RequestTableTesting;  // corrupts the state, to see `verify` object

  // Makes a request the last of those that are pending, on the operation's communicator.
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
