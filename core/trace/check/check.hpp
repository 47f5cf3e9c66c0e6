// Check and summary of a trace, without simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "trace/archive/trace_set.hpp"
#include "trace/check/finding.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Totals of all actions with the same name.
struct ActionCount {
  std::string name;
  std::uint64_t actions = 0;
  std::uint64_t messages = 0;  // point-to-point only, without those of collectives
  std::uint64_t bytes = 0;     // of those messages
  double amount = 0;           // flops, or seconds of sleep
};

struct CheckReport {
  Findings findings;
  std::uint64_t actions = 0;
  std::vector<ActionCount> counts;  // by name
};

// Reads every rank, and some of them again if something is wrong. Sends and receives must match in
// number and size, collectives in order and arguments; requests must be completed. Unreadable lines
// are findings too, and then the only ones. Throws TraceError if a file cannot be read at all.
//
// In a packed trace of version 2, whose structure contains the loops, the cost grows with the
// structure only. The findings are the same as when every repetition is read.
CheckReport check(const TraceSet& set, const Progress& progress = {},
                  Loops loops = Loops::by_repetition);

}  // namespace tisim
