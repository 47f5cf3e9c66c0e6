// The numbers by which a trace names the requests of its rank (`request=N`).
#pragma once

#include <cstdint>
#include <map>

#include "support/stack.hpp"

namespace tisim {

struct NumberedRequest {
  std::int32_t pending = -1;     // its request in the RequestTable, -1: none is pending
  std::int32_t persistent = -1;  // the rank's persistent request of that number, -1: none
  bool given = false;            // to a request that no wait has named since
  bool may_be_complete = false;  // a test, waitany or waitsome has named it since
};

// Promises that what it holds stays small where numbers do: free ones are used again.
class RequestNumbers {
 public:
  // What has a number, made if it is new. References are good until the next call.
  NumberedRequest& operator[](std::int32_t number) {
    const auto at = static_cast<std::size_t>(number);
    if (at >= kMostDense) return large_[number];
    if (at >= small_.size()) {
      small_.make_room(at + 1 - small_.size());
      while (small_.size() <= at) small_.push_back({});
    }
    return small_[at];
  }
  // Nothing when no request has ever had the number.
  const NumberedRequest* find(std::int32_t number) const {
    const auto at = static_cast<std::size_t>(number);
    if (at < kMostDense) return at < small_.size() ? &small_[at] : nullptr;
    const auto found = large_.find(number);
    return found == large_.end() ? nullptr : &found->second;
  }

 private:
  // Numbers below have a place each: at most 64 KiB of a rank that names one large number.
  static constexpr std::size_t kMostDense = 4096;

  Stack<NumberedRequest> small_;
  std::map<std::int32_t, NumberedRequest> large_;
};

}  // namespace tisim
