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

// Takes states in the order of their ends, and writes them in batches, each of a stretch of time.
class SpanFile : public StateSink {
 public:
  // `full`: number of states in a batch.
  SpanFile(std::size_t ranks, std::size_t full);

  std::size_t ranks() const override { return states_.ranks(); }
  void row(const StateRow& row) override {
    states_.add(row);
    if (states_.size() >= full_) write();
  }
  // Call when no state follows.
  void finish();

  struct Batch {
    double begin, end;  // bounds of all its states
    std::size_t states;
    std::array<std::size_t, 4> offsets;  // file offsets of its columns
  };
  const std::vector<Batch>& batches() const { return batches_; }
  // The spans of a batch in the complete file, which is in memory.
  StateSpans states(const Batch& batch, std::string_view file) const;
  // Pairs of state and kind that have occurred, ascending.
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

// A strip of a level: lanes of `group` ranks, and some of the equal parts of the time.
struct LevelStrip {
  std::size_t group, parts;  // of the whole time, from 0 to `end`
  std::size_t first, count;  // of these parts
  double end;                // seconds
};

class LevelFile {
 public:
  LevelFile();

  // Computes the cells of a strip from the states in a complete file in memory.
  void sum(const SpanFile& spans, std::string_view file, const LevelStrip& strip);
  // The same cells with parts twice as long.
  void halve() { cells_ = cells_.halved(); }
  // Writes the cells; returns the number of their batch.
  std::size_t write();
  // Call when nothing follows.
  void finish() { file_.finish(); }

  std::string_view written() const { return file_.written(); }
  void clear() { file_.clear(); }

 private:
  LaneTable cells_;
  ListFile file_;
};

}  // namespace tisim
