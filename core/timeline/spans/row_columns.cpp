#include "timeline/spans/row_columns.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <type_traits>

namespace tisim {

namespace {

// Counting ranks needs memory for each of them: too much where hardly any has a row.
constexpr std::size_t kRanksARow = 4;

template <std::size_t Size>
void gather(std::string_view rows, std::size_t row_size, std::size_t offset,
            const std::vector<std::uint32_t>* order, std::uint8_t* to) {
  const std::size_t count = rows.size() / row_size;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = order == nullptr ? i : (*order)[i];
    std::memcpy(to + i * Size, rows.data() + from * row_size + offset, Size);
  }
}

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

std::vector<std::uint8_t> column_of(std::string_view rows, std::size_t row_size, RowField field,
                                    const std::vector<std::uint32_t>* order) {
  std::vector<std::uint8_t> column(rows.size() / row_size * field.size);
  const auto fill = [&](auto size) {
    gather<decltype(size)::value>(rows, row_size, field.offset, order, column.data());
  };
  switch (field.size) {
    case 1:
      fill(std::integral_constant<std::size_t, 1>{});
      break;
    case 2:
      fill(std::integral_constant<std::size_t, 2>{});
      break;
    case 4:
      fill(std::integral_constant<std::size_t, 4>{});
      break;
    case 8:
      fill(std::integral_constant<std::size_t, 8>{});
      break;
    default:
      throw std::invalid_argument("a field has 1, 2, 4 or 8 bytes");
  }
  return column;
}

}  // namespace tisim
