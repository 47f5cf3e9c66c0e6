// Lines within a loop, some repetitions of which are not read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tisim {

struct SkippedLines {
  std::uint64_t loop_begin = 0;  // the lines before the loop
  std::uint64_t by = 0;          // the lines that are skipped

  // What is in the loop is so in the last repetition that was skipped.
  std::uint32_t moved(std::uint32_t line) const {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    return line <= loop_begin ? line : static_cast<std::uint32_t>(std::min(line + by, kMost));
  }
};

// A place between two repetitions of a loop. Lines in the loop count from there, others from the
// beginning.
struct LoopLines {
  std::uint64_t loop_begin = 0;
  std::uint64_t here = 0;

  std::uint64_t relative(std::uint32_t line) const {
    return line <= loop_begin ? line : (std::uint64_t{1} << 63) + (here - line);
  }
};

}  // namespace tisim
