#include "mpi/point_to_point/cancellations.hpp"

#include <algorithm>
#include <span>

namespace tisim {

void Cancellations::cancel(Rank& rank) {
  const std::int32_t found =
      (rank.op.flags & kNumbered) != 0
          ? requests_.to_cancel(rank, static_cast<std::int32_t>(rank.op.bytes))
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
    if (requests_.leave_to_itself(rank, pending)) messages_.end_unattended(request);
  }
  if (persistent >= 0) requests_.free_persistent(rank, persistent);
}

// The oldest one that is not under way and has the key of the operation, -1: none.
std::int32_t Cancellations::find_persistent(const Rank& rank) const {
  const std::int32_t me = communicators_.number_in(rank, rank.op.comm);
  const std::span<PersistentRequest> all = rank.persistent();
  const auto found = std::find_if(all.begin(), all.end(), [&](const PersistentRequest& request) {
    return !request.active && request.has_key(rank.op, me);
  });
  return found == all.end() ? -1 : static_cast<std::int32_t>(found - all.begin());
}

}  // namespace tisim
