#include "trace/requests/pending_requests.hpp"

namespace tisim {

std::int32_t PendingRequests::find(PendingList& list, std::int32_t rank, const Op& key) {
  const auto destination = static_cast<std::int32_t>(key.bytes);
  if (list.indexed) {
    const Place least{rank, key.comm, key.tag, key.peer, destination, 0};
    const auto entry = places_.lower_bound(least);
    if (entry == places_.end()) return -1;
    Place same = least;
    std::get<5>(same) = std::get<5>(entry->first);
    return entry->first == same ? entry->second : -1;
  }
  std::int32_t steps = 0;
  for (std::int32_t at = list.first; at >= 0; at = next(at), ++steps) {
    const Request& request = (*this)[at];
    if (request.type == RequestType::collective || request.comm != key.comm) continue;
    const RequestKey& named = this->key(at);
    if ((named.source == key.peer || request.source_lost) && named.destination == destination &&
        named.tag == key.tag) {
      if (steps > kMaxUnindexed) make_index(list, rank);
      return at;
    }
  }
  return -1;
}

std::int32_t PendingRequests::find_collective(const PendingList& list, const Op& key) const {
  for (std::int32_t at = list.first; at >= 0; at = next(at)) {
    const Request& request = (*this)[at];
    if (request.type == RequestType::collective && this->key(at).tag == key.tag &&
        request.comm == key.comm) {
      return at;
    }
  }
  return -1;
}

// Lists with requests whose source was lost are not indexed but searched linearly.
void PendingRequests::make_index(PendingList& list, std::int32_t rank) {
  for (std::int32_t at = list.first; at >= 0; at = next(at)) {
    if ((*this)[at].source_lost) return;
  }
  list.indexed = true;
  for (std::int32_t at = list.first; at >= 0; at = next(at)) {
    if ((*this)[at].type != RequestType::collective) places_.emplace(place_of(rank, at), at);
  }
}

void PendingRequests::add_to_index(PendingList& list, std::int32_t rank, std::int32_t index) {
  if (!(*this)[index].source_lost) {
    places_.emplace(place_of(rank, index), index);
    return;
  }
  for (std::int32_t at = list.first; at >= 0; at = next(at)) {
    places_.erase(place_of(rank, at));
  }
  list.indexed = false;
}

}  // namespace tisim
