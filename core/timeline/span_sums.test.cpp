#include "timeline/span_sums.hpp"

#include <cstdint>
#include <vector>

#include "core/test.hpp"

namespace tisim::test {
namespace {

struct Added {
  double start, end;
  std::int32_t lane = 0, key = 0;
};

std::vector<SpanSums::Cell> cells_of(const Added& added, std::size_t parts) {
  SpanSums sums(0.0, 4.0, 2, parts, 2);
  const double seconds = added.end - added.start;
  const std::int64_t one = 1;
  sums.add({{&added.start, 1},
            {&added.end, 1},
            {&added.lane, 1},
            {&added.key, 1},
            {&seconds, 1},
            {&seconds, 1},
            {&one, 1}});
  return sums.cells();
}

TEST("span sums: a span is spread over its parts") {
  const auto cells = cells_of({0.5, 2.5, 1, 1}, 4);
  CHECK(cells.size() == 3);
  CHECK(cells[0].part == 0 && cells[0].lane == 1 && cells[0].key == 1);
  CHECK(cells[0].seconds == 0.5F && cells[1].seconds == 1.0F && cells[2].seconds == 0.5F);
  CHECK(cells[0].longest == 2.0F && cells[2].longest == 2.0F);
  CHECK(cells[0].count == 0 && cells[1].count == 0 && cells[2].count == 1);
}

TEST("span sums: what ends at a border belongs before it") {
  const auto cells = cells_of({0.0, 1.0}, 4);
  CHECK(cells.size() == 1);
  CHECK(cells[0].part == 0 && cells[0].seconds == 1.0F && cells[0].count == 1);
}

TEST("span sums: an empty span is counted") {
  const auto cells = cells_of({0.0, 0.0}, 4);
  CHECK(cells.size() == 1);
  CHECK(cells[0].seconds == 0.0F && cells[0].count == 1);
}

TEST("span sums: what lies outside is left out") {
  CHECK(cells_of({5.0, 6.0}, 4).empty());
  CHECK(cells_of({0.0, 1.0, 2, 0}, 4).empty());
  CHECK(cells_of({0.0, 1.0, 0, -1}, 4).empty());
  const auto cells = cells_of({3.0, 9.0}, 2);
  CHECK(cells.size() == 1 && cells[0].seconds == 1.0F && cells[0].count == 0);
}

}  // namespace
}  // namespace tisim::test
