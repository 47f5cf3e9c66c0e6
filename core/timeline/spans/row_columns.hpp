// Rows of fixed size as columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tisim {

struct RowField {
  std::size_t offset, size;  // bytes in a row; 1, 2, 4 or 8
};

// The order of rows by the rank (std::int32_t) that stands at an offset of each; those of one rank
// keep theirs. Throws std::out_of_range when one is negative or not below `ranks`.
std::vector<std::uint32_t> order_by_rank(std::string_view rows, std::size_t row_size,
                                         std::size_t rank_at, std::size_t ranks);

// A field of all rows, in an order; without one, as they are.
std::vector<std::uint8_t> column_of(std::string_view rows, std::size_t row_size, RowField field,
                                    const std::vector<std::uint32_t>* order);

}  // namespace tisim
