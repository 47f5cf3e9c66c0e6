// The requests of all ranks: which are pending, in which order, and which are complete.
//
// Whoever waits or tests is in `point_to_point/waits.hpp` and `request_tests.hpp`; here is only
// what a request is and where it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/communicator/communicator_table.hpp"
#include "mpi/matching/matcher.hpp"
#include "mpi/rank/runtime.hpp"
#include "mpi/request/request.hpp"
#include "mpi/request/request_index.hpp"
#include "support/pool.hpp"

namespace tisim {

class RequestTable {
 public:
  RequestTable(const Runtime& runtime, Matcher& matcher, const CommunicatorTable& communicators)
      : runtime_(runtime), matcher_(matcher), communicators_(communicators) {}
  RequestTable(const RequestTable&) = delete;
  RequestTable& operator=(const RequestTable&) = delete;

  Request& operator[](std::int32_t index) { return requests_[index]; }
  const Request& operator[](std::int32_t index) const { return requests_[index]; }

  // A new request for the operation that the rank executes; message -1: nothing to wait for. In a
  // schedule it goes to the operation's slot, a sendrecv awaits it at once, and otherwise it is
  // pending under the key that a later wait or test names.
  void add(Rank& rank, Side side, std::int32_t message);
  // The requests of a non-blocking collective are pending as one, under a tag.
  void add_collective(Rank& rank, std::int32_t tag, std::span<const std::int32_t> parts);
  // The request is finished: its number is free.
  void drop(Rank& rank, std::int32_t request);

  // The request that a wait or test of the trace is about, -1: none.
  std::int32_t named(Rank& rank);
  // The first pending request that waits for a message (if `complete`: for one that has arrived).
  std::int32_t first_with_message(const Rank& rank, bool complete) const;
  // Whether a number is that of a message's request that is pending on a rank of a world.
  bool is_pending_message(const Rank& rank, std::int32_t index) const;
  // What a pending non-blocking collective is made of.
  StartedCollective& collective(std::int32_t origin) { return collectives_[origin]; }

  // Puts a request among those that the rank waits for; one without a message is finished at once.
  void await(Rank& rank, std::int32_t request);
  // Takes it out again, not finished.
  void stop_awaiting(Rank& rank, std::int32_t request);
  // Of the awaited requests that are complete the one that was posted first, which is awaited no
  // longer; -1: none is complete.
  std::int32_t take_complete(Rank& rank);
  // The message of a request has arrived: whoever waits for it goes on.
  void complete(std::int32_t request, std::int32_t rank);

  // Lists, counters and the index agree. Throws BrokenInvariant.
  void verify() const;

 private:
  friend struct RequestTableTesting;  // corrupts the state, to see `verify` object

  void list(Rank& rank, std::int32_t request);
  void push_complete(Rank& rank, std::int32_t request);
  std::int32_t find(Rank& rank);
  std::int32_t find_collective(const Rank& rank) const;
  std::int32_t by_number(const Op& op) const;
  void make_index(Rank& rank);
  void drop_index(Rank& rank);
  void verify(const Rank& rank) const;
  auto posted_later() const {
    return
        [this](std::int32_t a, std::int32_t b) { return requests_[a].order > requests_[b].order; };
  }

  Runtime runtime_;
  Matcher& matcher_;
  const CommunicatorTable& communicators_;
  Pool<Request> requests_;
  RequestIndex index_;
  Pool<StartedCollective> collectives_;
};

}  // namespace tisim
