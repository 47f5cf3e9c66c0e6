// The order of rows of fixed size by their ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tisim {

// The order of rows by the rank (std::int32_t) that stands at an offset of each; those of one rank
// keep theirs. Throws std::out_of_range when one is negative or not below `ranks`.
std::vector<std::uint32_t> order_by_rank(std::string_view rows, std::size_t row_size,
                                         std::size_t rank_at, std::size_t ranks);

}  // namespace tisim
