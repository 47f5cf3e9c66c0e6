// Requests that MPI_Request_free has left to themselves: no call names them any more, and whoever
// ends their message lets them go.
#include "mpi/request/request_table.hpp"
#include "support/invariant.hpp"

namespace tisim {

bool RequestTable::leave_to_itself(Rank& rank, std::int32_t index) {
  unlist(rank, index);
  Request& request = requests_[index];
  const bool has_message = request.message >= 0;
  if (!has_message || request.complete) {
    requests_.release(index);
    return has_message;
  }
  OptionalRankState& state = rank.optional_state();
  request.type = RequestType::message;
  request.origin = -1;
  request.freed = true;
  request.previous = -1;
  request.next = state.freed_first;
  if (request.next >= 0) requests_[request.next].previous = index;
  state.freed_first = index;
  return false;
}

void RequestTable::unlink_freed(Rank& rank, std::int32_t index) {
  Request& request = requests_[index];
  (request.previous >= 0 ? requests_[request.previous].next : rank.optional->freed_first) =
      request.next;
  if (request.next >= 0) requests_[request.next].previous = request.previous;
  request.freed = false;
  request.next = -1;
}

void RequestTable::list_freed(Rank& rank) {
  if (!rank.optional) return;
  for (std::int32_t at = rank.optional->freed_first; at >= 0; at = rank.optional->freed_first) {
    unlink_freed(rank, at);
    requests_[at].order = rank.request_order++;
    list(rank, at);
  }
}

void RequestTable::verify_freed(const Rank& rank) const {
  if (!rank.optional) return;
  std::int32_t last = -1;
  std::size_t count = 0;
  for (std::int32_t at = rank.optional->freed_first; at >= 0; last = at, at = requests_[at].next) {
    const Request& request = requests_[at];
    ensure(++count <= requests_.in_use(), "the list of freed requests has an end");
    ensure(request.freed && !request.listed && request.previous == last,
           "freed requests form a list");
    ensure(request.message >= 0 && !request.complete && !request.awaited,
           "freed requests have messages under way");
  }
}

}  // namespace tisim
