// Where the programs of the ranks end.
#pragma once

#include <cstdint>
#include <vector>

#include "support/mixing.hpp"
#include "trace/walk/finding.hpp"
#include "trace/walk/rank_walk.hpp"
#include "trace/walk/skipped_lines.hpp"

namespace tisim {

// The `init` and `finalize` of one rank, and what comes behind.
class ProgramEnd {
 public:
  explicit ProgramEnd(std::int32_t rank) : rank_(rank) {}

  // Adds an error for the first communication behind `finalize`, and a warning for the first other
  // action.
  void take(const RankWalk& walk, Findings& findings);

  // A hash of all but the last line, and how to go on as many lines later.
  std::uint64_t signature() const {
    return mixed(mixed(finalize_line_, 1), (has_init_ ? 2U : 0U) + (reported_ ? 1U : 0U));
  }
  void skip(const SkippedLines& skipped) { last_line_ = skipped.moved(last_line_); }

  std::int32_t rank() const { return rank_; }
  std::uint32_t last_line() const { return last_line_; }
  // Whether the program began and never ended.
  bool is_open() const { return has_init_ && finalize_line_ == 0; }
  bool is_finalized() const { return finalize_line_ != 0; }

 private:
  std::int32_t rank_;
  std::uint32_t finalize_line_ = 0;  // 0: not yet
  std::uint32_t last_line_ = 0;
  bool has_init_ = false;
  bool reported_ = false;
};

// Those of all ranks.
class ProgramEnds {
 public:
  void take(const ProgramEnd& end) {
    if (end.is_open()) open_.push_back(end);
    any_finalized_ = any_finalized_ || end.is_finalized();
  }
  // A warning about ranks without `finalize` where others have one. A trace in which no rank has
  // one was written so.
  void report(const TraceSet& set, Findings& findings) const;

 private:
  std::vector<ProgramEnd> open_;
  bool any_finalized_ = false;
};

}  // namespace tisim
