#include "mpi/persistent_requests.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace tisim {

void PersistentRequests::create(Rank& rank) const {
  // Reports a rank outside the communicator here rather than at the start.
  if (rank.op.peer != kProcNull && rank.op.peer != kAnySource) {
    addresses_.global_rank(rank, rank.op.peer);
  }
  OptionalRankState& state = rank.optional_state();
  if (state.free_persistent < 0) {
    state.made_persistent = static_cast<std::int32_t>(state.persistent.size());
    state.persistent.push_back({.op = rank.op});
    return;
  }
  state.made_persistent = state.free_persistent;
  PersistentRequest& request = rank.persistent()[static_cast<std::size_t>(state.made_persistent)];
  state.free_persistent = request.number;
  request = {.op = rank.op};
}

// Returns the index of the inactive request that a start names, or -1.
std::int32_t PersistentRequests::find(Rank& rank) const {
  const Op& op = rank.op;
  if ((op.flags & kByNumber) != 0) return static_cast<std::int32_t>(op.bytes);
  if ((op.flags & kNumbered) != 0) {
    return requests_.find_startable(rank, static_cast<std::int32_t>(op.bytes));
  }
  const std::int32_t me = communicators_.number_in(rank, op.comm);
  const std::span<PersistentRequest> all = rank.persistent();
  const auto found = std::find_if(all.begin(), all.end(), [&](const PersistentRequest& request) {
    return !request.active && request.has_key(op, me);
  });
  return found == all.end() ? -1 : static_cast<std::int32_t>(found - all.begin());
}

bool PersistentRequests::start(Rank& rank, std::int32_t index) {
  const std::int32_t found = find(rank);
  if (found < 0) return true;
  PersistentRequest& request = rank.persistent()[static_cast<std::size_t>(found)];
  if (request.op.peer == kProcNull) return true;  // starts nothing, is never pending
  request.active = true;
  const Op start = rank.op;
  rank.op = request.op;
  rank.op.line = start.line;
  // The recorded source for this start of a receive from any source, if the trace gives it.
  if (rank.op.peer == kAnySource && (start.flags & kNumbered) != 0) rank.op.peer = start.peer;
  rank.starting = found;
  return traits_of(rank.op.kind).receives ? probes_.receive(rank, index)
                                          : messages_.send(rank, index);
}

void PersistentRequests::start_all(Rank& rank) const {
  std::vector<Op> ops;
  Op op;
  op.kind = Kind::start;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  if ((rank.op.flags & kNumbered) != 0) {
    for (const double number : requests_.numbers_listed(rank)) {
      op.bytes = requests_.find_startable(rank, static_cast<std::int32_t>(number));
      ops.push_back(op);
    }
  } else {
    for (const PersistentRequest& request : rank.persistent()) {
      if (!request.active) ops.push_back(op);
      ++op.bytes;
    }
  }
  rank.insert(ops);
}

void Cancellations::cancel(Rank& rank) {
  const std::int32_t found =
      (rank.op.flags & kNumbered) != 0
          ? requests_.find_cancellable(rank, static_cast<std::int32_t>(rank.op.bytes))
          : requests_.named(rank);
  if (found < 0) return;
  Request& request = requests_[found];
  if (request.message < 0 || matcher_.message(request.message).state == MessageState::matched) {
    return;
  }
  const std::int32_t message = request.message;
  request.message = -1;
  request.complete = true;
  messages_.withdraw(message);
}

void Cancellations::free(Rank& rank) {
  std::int32_t pending = -1;
  std::int32_t persistent = -1;
  if ((rank.op.flags & kNumbered) != 0) {
    const auto number = static_cast<std::int32_t>(rank.op.bytes);
    const NumberedRequest freed = requests_.free_number(rank, number);
    pending = freed.pending;
    persistent = freed.persistent;
  } else {
    pending = requests_.named(rank);
    if (pending < 0) {
      persistent = find_persistent(rank);
    } else if (requests_[pending].type == RequestType::persistent) {
      persistent = requests_[pending].origin;
    }
  }
  if (pending >= 0) {
    const Request request = requests_[pending];
    if (requests_.free_pending(rank, pending)) messages_.end_unattended(request);
  }
  if (persistent >= 0) requests_.free_persistent(rank, persistent);
}

// Returns the oldest inactive request with the operation's key, or -1.
std::int32_t Cancellations::find_persistent(const Rank& rank) const {
  const std::int32_t me = communicators_.number_in(rank, rank.op.comm);
  const std::span<PersistentRequest> all = rank.persistent();
  const auto found = std::find_if(all.begin(), all.end(), [&](const PersistentRequest& request) {
    return !request.active && request.has_key(rank.op, me);
  });
  return found == all.end() ? -1 : static_cast<std::int32_t>(found - all.begin());
}

}  // namespace tisim
