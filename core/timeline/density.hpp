// How much of its time each rank, or each group of ranks, spends in each state, over time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "timeline/states.hpp"

namespace tisim {

// Seconds in each state, by [group][bin][state], of `bins` equal parts of the time from `begin` to
// `end`; `groups[r]` is the group of rank r, from 0 to below `count`.
std::vector<float> state_density(const std::string& states, double begin, double end,
                                 std::size_t bins, std::span<const std::int32_t> groups,
                                 std::size_t count);

}  // namespace tisim
