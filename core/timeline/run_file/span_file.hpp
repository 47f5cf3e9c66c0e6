// Spans of a run file and their levels of detail.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "timeline/run_file/list_file.hpp"
#include "timeline/spans/span_sums.hpp"

namespace tisim {

// The states by rank in a run file, which pictures read in place.

// Takes states in the order of their ends, and writes batches of them, each of a stretch of time.
class SpanFile : public StateSink {
 public:
  // `full`: the states of a batch.
  SpanFile(std::size_t ranks, std::size_t full);

  std::size_t ranks() const override { return states_.ranks(); }
  void row(const StateRow& row) override {
    states_.add(row);
    if (states_.size() >= full_) write();
  }
  // No state follows.
  void finish();

  struct Batch {
    double begin, end;  // all of its states lie between them
    std::size_t states;
    std::array<std::size_t, 4> places;  // of its columns, in the file
  };
  const std::vector<Batch>& batches() const { return batches_; }
  // The spans of a batch, in the file, which is complete and in memory.
  StateSpans states(const Batch& batch, std::string_view file) const;
  // States and kinds that have occurred, ascending.
  std::vector<SpanKey> keys() const;

  std::string_view written() const { return file_.written(); }
  void clear() { file_.clear(); }

 private:
  void write();

  StatesByRank states_;
  std::size_t full_;
  std::vector<bool> has_key_;
  std::vector<Batch> batches_;
  ListFile file_;
};

// The levels of a run file: sums of its states over lanes and parts of the time.

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
