#include "timeline/spans/row_order.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace tisim {

namespace {

// Counting ranks needs memory for each of them: too much where hardly any has a row.
constexpr std::size_t kRanksARow = 4;

}  // namespace

std::vector<std::uint32_t> order_by_rank(std::string_view rows, std::size_t row_size,
                                         std::size_t rank_at, std::size_t ranks) {
  const std::size_t count = rows.size() / row_size;
  const auto rank_of = [rows, row_size, rank_at, ranks](std::size_t row) {
    std::int32_t rank = 0;
    std::memcpy(&rank, rows.data() + row * row_size + rank_at, sizeof rank);
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks) {
      throw std::out_of_range("a record of no known rank");
    }
    return static_cast<std::size_t>(rank);
  };
  std::vector<std::uint32_t> order(count);
  if (ranks > kRanksARow * count) {
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&rank_of](std::uint32_t a, std::uint32_t b) {
      return rank_of(a) < rank_of(b);
    });
    return order;
  }
  std::vector<std::uint32_t> next(ranks + 1);
  for (std::size_t row = 0; row < count; ++row) ++next[rank_of(row) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::size_t row = 0; row < count; ++row) {
    order[next[rank_of(row)]++] = static_cast<std::uint32_t>(row);
  }
  return order;
}

}  // namespace tisim
