#include "timeline/spans/span_sums.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/test.hpp"
#include "timeline/formats/text.hpp"
#include "timeline/states.hpp"

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

TEST("span sums: a long span is added to each part once") {
  constexpr std::size_t parts = 400;
  const auto cells = cells_of({0.015, 3.985}, parts);
  CHECK(cells.size() == parts - 2);
  for (const SpanSums::Cell& cell : cells) {
    CHECK(cell.longest == 3.97F);
    const bool is_edge = cell.part == 1 || cell.part == parts - 2;
    CHECK(std::abs(cell.seconds - (is_edge ? 0.005F : 0.01F)) < 1e-6F);
    CHECK(cell.count == (cell.part == parts - 2 ? 1U : 0U));
  }
}

StateRow state_of(std::int32_t rank, double start, double end, std::uint8_t state) {
  StateRow row{};
  row.rank = rank;
  row.start = start;
  row.end = end;
  row.state = state;
  row.kind = 2;
  return row;
}

void add(StatesByRank& states, const std::vector<StateRow>& rows) {
  for (const StateRow& row : rows) states.add(row);
}

TEST("states by rank: gaps are kept, and batches follow one another") {
  StatesByRank states(3);
  add(states, {state_of(2, 0.0, 1.0, 1), state_of(0, 0.5, 1.0, 1), state_of(2, 1.0, 2.0, 3)});
  const StatesByRank::Chunk first = states.take();
  CHECK(first.offsets == std::vector<std::int32_t>({0, 2, 2, 4}));
  CHECK(first.ends == std::vector<double>({0.5, 1.0, 1.0, 2.0}));
  CHECK(first.keys == std::vector<SpanKey>({kNoState, 1 << 8 | 2, 1 << 8 | 2, 3 << 8 | 2}));
  CHECK(first.begin == 0.0 && first.end == 2.0);
  states.add(state_of(2, 2.0, 2.5, 1));
  const StatesByRank::Chunk second = states.take();
  CHECK(second.begins == std::vector<double>({1.0, 0.0, 2.0}));
  CHECK(second.begin == 2.0 && second.end == 2.5);
  CHECK_THROWS(states.add(state_of(3, 0.0, 1.0, 1)), std::out_of_range, "rank");
}

TEST("span sums: states by rank are what their rows are") {
  StatesByRank states(3);
  add(states, {state_of(2, 0.0, 1.0, 1), state_of(0, 0.0, 1.5, 1), state_of(2, 1.0, 4.0, 3)});
  const StatesByRank::Chunk chunk = states.take();
  std::vector<std::int32_t> classes(kSpanKeys, -1);
  classes[3 << 8 | 2] = 1;
  const std::vector<std::int32_t> from{2}, to{1};
  SpanSums sums(0.0, 4.0, 2, 4, 2);
  sums.add({chunk.begins, chunk.offsets, chunk.ends, chunk.keys}, {from, to, classes});
  const auto cells = sums.cells();
  CHECK(cells.size() == 3);
  CHECK(cells[0].part == 1 && cells[0].lane == 1 && cells[0].key == 1);
  CHECK(cells[0].longest == 3.0F && cells[2].count == 1);
  const std::vector<std::int32_t> none{3};
  CHECK_THROWS(sums.add({chunk.begins, chunk.offsets, chunk.ends, chunk.keys}, {none, to, classes}),
               std::out_of_range, "no such lane");
  const std::vector<std::int32_t> wrong{0, 9, 9, 9}, second{0};
  CHECK_THROWS(sums.add({chunk.begins, wrong, chunk.ends, chunk.keys}, {second, to, classes}),
               std::out_of_range, "outside");
}

TEST("span sums: parts of a level that are twice as long have the same sums") {
  SpanSums sums(0.0, 4.0, 2, 4, 2);
  const std::vector<double> start{0.0, 1.5, 3.0}, end{1.5, 3.0, 4.0}, seconds{1.5, 1.5, 1.0};
  const std::vector<std::int32_t> lane{1, 1, 1}, key{0, 1, 0};
  const std::vector<std::int64_t> count{1, 1, 1};
  sums.add({start, end, lane, key, seconds, seconds, count});
  const std::vector<SpanKey> names{5, 9};
  const LaneTable coarse = sums.by_lane(8, names).halved();
  CHECK(coarse.offsets == std::vector<std::int32_t>({0, 0, 4}));
  CHECK(coarse.part == std::vector<std::uint32_t>({4, 4, 5, 5}));
  CHECK(coarse.key == std::vector<SpanKey>({5, 9, 5, 9}));
  CHECK(coarse.seconds == std::vector<float>({1.5F, 0.5F, 1.0F, 1.0F}));
  CHECK(coarse.longest == std::vector<float>({1.5F, 1.5F, 1.0F, 1.5F}));
  CHECK(coarse.count == std::vector<std::uint32_t>({1, 0, 1, 1}));
  // Cells can be added to a grid again; their seconds can be scaled.
  SpanSums back(0.0, 4.0, 1, 1, 1);
  std::vector<std::int32_t> classes(kSpanKeys, -1);
  classes[5] = 0;
  const std::vector<std::int32_t> from{1}, to{0};
  const std::vector<double> scale{2.0};
  const LaneTable own = sums.by_lane(0, names);
  back.add({own.offsets, own.part, own.key, own.seconds, own.longest, own.count}, 4.0, 4.0,
           {from, to, classes}, scale);
  CHECK(back.cells().size() == 1);
  CHECK(back.cells()[0].seconds == 5.0F && back.cells()[0].count == 2);
}

TEST("order of rows: by rank") {
  const std::vector<StateRow> rows{state_of(2, 0.0, 1.0, 1), state_of(0, 0.0, 1.5, 2),
                                   state_of(2, 1.0, 4.0, 3)};
  const auto order = order_by_rank(bytes_of(rows), sizeof(StateRow), offsetof(StateRow, rank), 3);
  CHECK(order == std::vector<std::uint32_t>({1, 0, 2}));
  CHECK_THROWS(order_by_rank(bytes_of(rows), sizeof(StateRow), offsetof(StateRow, rank), 2),
               std::out_of_range, "rank");
}

}  // namespace

}  // namespace tisim::test
