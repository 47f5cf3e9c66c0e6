// The handles of one rank of a trace, for a check.
#pragma once

#include <cstdint>
#include <map>

#include "trace/vocabulary/file_handle.hpp"
#include "trace/walk/finding.hpp"
#include "trace/walk/rank_walk.hpp"
#include "trace/walk/skipped_lines.hpp"

namespace tisim {

class OpenFiles {
 public:
  explicit OpenFiles(std::int32_t rank) : rank_(rank) {}

  // Adds an error for a call on a handle that is not open, or is open already, or for other calls.
  void take(const RankWalk& walk, Findings& findings);

  // A hash of the handles, and how to go on as many lines later.
  std::uint64_t signature(const LoopLines& lines) const;
  void skip(const SkippedLines& skipped);

 private:
  std::int32_t rank_;
  std::map<std::int32_t, Handle> handles_;
};

}  // namespace tisim
