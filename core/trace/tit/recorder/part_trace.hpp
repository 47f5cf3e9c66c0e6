// From what all ranks have recorded to a packed trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/tit/recorder/part_set.hpp"

namespace tisim {
namespace tit {

// A rank with more calls keeps the structure that its recorder found; that of others is sought
// anew, with all calls at hand.
constexpr std::uint64_t kMostCallsAtHand = std::uint64_t{1} << 25;

// The whole file. Rank 0 begins with `first_lines`, which have no rank. A rank that is missing does
// nothing. Those that are missing or did not end as they should are `incomplete`; a comment in the
// first rank says so. Throws FormatError.
std::string trace_of(const PartSet& parts, const std::vector<std::string>& first_lines,
                     std::vector<std::uint32_t>& incomplete,
                     std::uint64_t most_calls_at_hand = kMostCallsAtHand);

}  // namespace tit
}  // namespace tisim
