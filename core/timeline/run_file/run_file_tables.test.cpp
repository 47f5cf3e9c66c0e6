#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/test.hpp"
#include "timeline/run_file/record_table.hpp"
#include "timeline/run_file/span_file.hpp"

namespace tisim::test {
namespace {

StateRow row_of(std::int32_t rank, double start, double end, std::uint8_t state) {
  StateRow row{};
  row.rank = rank;
  row.start = start;
  row.end = end;
  row.started = kNoTime;
  row.state = state;
  return row;
}

// The output of a file since the last call.
template <class File>
std::string taken_from(File& file) {
  std::string bytes(file.written());
  file.clear();
  return bytes;
}

TEST("run files: states by rank are found in the file that was written") {
  SpanFile spans(2, 3);
  std::string file;
  for (int i = 0; i < 5; ++i) {
    for (const std::int32_t rank : {0, 1}) {
      spans.row(row_of(rank, i, i + 1.0, static_cast<std::uint8_t>(i % 2)));
    }
    file += taken_from(spans);
  }
  spans.finish();
  file += taken_from(spans);
  CHECK(file.starts_with("ARROW1") && file.ends_with("ARROW1"));
  CHECK(spans.batches().size() == 4);
  CHECK(spans.keys() == std::vector<SpanKey>({0, 1 << 8}));
  double last = 0.0;
  for (const SpanFile::Batch& batch : spans.batches()) {
    const StateSpans states = spans.states(batch, file);
    CHECK(static_cast<std::size_t>(states.offsets[2]) == batch.states);
    if (states.offsets[1] > 0) CHECK(states.begins[0] == last);
    for (std::int32_t i = 0; i < states.offsets[1]; ++i) {
      CHECK(states.ends[static_cast<std::size_t>(i)] == last + 1.0);
      last += 1.0;
    }
  }
  CHECK(last == 5.0);
  CHECK_THROWS(spans.states(spans.batches().back(), file.substr(0, 100)), std::out_of_range,
               "outside its file");

  LevelFile levels;
  levels.sum(spans, file, {2, 4, 0, 4, 5.0});
  CHECK(levels.write() == 0);
  levels.halve();
  CHECK(levels.write() == 1);
  levels.finish();
  CHECK(taken_from(levels).ends_with("ARROW1"));
}

TEST("run files: tables of records begin and end as Parquet does") {
  StateTable states(3);
  CHECK(states.ranks() == 3);
  for (int i = 0; i < 10; ++i) states.row(row_of(i % 3, i, i + 3.0, 1));
  CHECK(states.table.rows() == 10);
  states.table.finish();
  CHECK(states.table.rows() == 10);
  const std::string file = taken_from(states.table);
  CHECK(file.starts_with("PAR1") && file.ends_with("PAR1"));

  StateTable none(3);
  none.table.finish();
  CHECK(taken_from(none.table).ends_with("PAR1"));

  StateTable wrong(1);
  wrong.row(row_of(1, 0.0, 1.0, 0));
  CHECK_THROWS(wrong.table.finish(), std::out_of_range, "rank");
  CHECK_THROWS(wrong.table.add_rows("half of a row"), std::invalid_argument, "whole");
}

}  // namespace
}  // namespace tisim::test
