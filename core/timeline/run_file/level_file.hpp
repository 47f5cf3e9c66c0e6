// The levels of a run file: sums of its states over lanes and parts of the time.
#pragma once

#include <cstddef>
#include <string_view>

#include "timeline/run_file/list_file.hpp"
#include "timeline/run_file/span_file.hpp"
#include "timeline/spans/lane_cells.hpp"

namespace tisim {

// A stretch of a level: lanes of `group` ranks, and some of the equal parts of the time.
struct LevelStrip {
  std::size_t group, parts;  // of the whole time, from 0 to `end`
  std::size_t first, count;  // of these parts
  double end;                // seconds
};

class LevelFile {
 public:
  LevelFile();

  // The cells of a strip, from the states in a complete file in memory.
  void sum(const SpanFile& spans, std::string_view file, const LevelStrip& strip);
  // The same cells with parts that are twice as long.
  void halve() { cells_ = cells_.halved(); }
  // Writes the cells; the number of their batch.
  std::size_t write();
  // Nothing follows.
  void finish() { file_.finish(); }

  std::string_view written() const { return file_.written(); }
  void clear() { file_.clear(); }

 private:
  LaneTable cells_;
  ListFile file_;
};

}  // namespace tisim
