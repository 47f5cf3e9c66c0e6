// The arguments of a collective call by their meaning: the one place that decodes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/vocabulary/call.hpp"

namespace tisim {

// A call over a known number of ranks. Counts are in elements of one rank's part: whole numbers up
// to 2^53. What the collective does not have is 0 or empty.
struct CollectiveCall {
  // Decodes `call`, which must outlive it. When `fits` is false, the other fields mean nothing, and
  // explain_misfit() says why. What is no collective never fits.
  CollectiveCall(const Call& call, std::int64_t size);

  std::int64_t send_bytes() const { return send_count * send_width; }
  std::int64_t receive_bytes() const { return receive_count * receive_width; }

  bool fits = false;
  Operation operation;
  std::int64_t root = 0;
  std::int64_t send_count = 0;  // or the only count
  std::int64_t receive_count = 0;
  std::int64_t send_width = 0;  // bytes of an element, of the only type where there is one
  std::int64_t receive_width = 0;
  std::span<const double> send_counts;  // by rank
  std::span<const double> receive_counts;
  double flops = 0;  // of reducescatter; those of other reductions are operations of their own
};

// What is wrong with a call that does not fit a communicator of `size` ranks, and what would fit.
// `kind`: collective or icollective.
std::string explain_misfit(const Call& call, Kind kind, std::int64_t size);

bool is_rooted(Operation operation);

}  // namespace tisim
