// The windows of one rank of a trace, for a check.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/check/finding.hpp"
#include "trace/vocabulary/epochs.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

class OpenWindows {
 public:
  explicit OpenWindows(std::int32_t rank) : rank_(rank) {}

  // Adds an error for a call that its window does not allow.
  void take(const RankWalk& walk, Findings& findings);
  // Call at the end of the trace: adds an error for each open epoch.
  void finish(const std::string& file, Findings& findings) const;

  // Hash of the windows, and their update for skipped lines.
  std::uint64_t signature(const LoopLines& lines) const;
  void skip(const SkippedLines& skipped);

 private:
  std::int32_t rank_;
  std::map<std::int32_t, Epochs> windows_;
};

// The ranks that a win_post or win_start lists; empty for other calls.
std::vector<std::int32_t> window_group_of(const RankWalk& walk);

}  // namespace tisim
