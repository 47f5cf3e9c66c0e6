// Pending requests by what a later wait or test names, for ranks that have many of them.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "mpi/request/request.hpp"

namespace tisim {

class RequestIndex {
 public:
  // So many requests a rank looks through one by one before it keeps an index of them.
  static constexpr std::int32_t kMostUnindexed = 16;

  void add(std::int32_t rank, const Request& request, std::int32_t number) {
    places_.emplace(key(rank, request, request.order), number);
  }
  void remove(std::int32_t rank, const Request& request) {
    places_.erase(key(rank, request, request.order));
  }
  // The oldest one of a rank with the communicator, tag, source and destination of `like`; -1:
  // none.
  std::int32_t find(std::int32_t rank, const Request& like) const {
    const auto found = places_.lower_bound(key(rank, like, 0));
    if (found == places_.end()) return -1;
    const bool same = found->first == key(rank, like, std::get<5>(found->first));
    return same ? found->second : -1;
  }

 private:
  using Key = std::tuple<std::int32_t, std::uint16_t, std::int32_t, std::int32_t, std::int32_t,
                         std::uint32_t>;
  static Key key(std::int32_t rank, const Request& request, std::uint32_t order) {
    return {rank, request.comm, request.tag, request.source, request.destination, order};
  }

  std::map<Key, std::int32_t> places_;
};

}  // namespace tisim
