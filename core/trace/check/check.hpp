// Check and summary of a trace, without simulating anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/progress.hpp"
#include "trace/archive/trace_set.hpp"
#include "trace/check/finding.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Totals of all actions of one name.
struct ActionCount {
  std::string name;
  std::uint64_t actions = 0;
  std::uint64_t messages = 0;  // that they send from rank to rank; not those of collectives
  std::uint64_t bytes = 0;     // of those messages
  double amount = 0;           // flops, or seconds of sleep
};

struct CheckReport {
  Findings findings;
  std::uint64_t actions = 0;
  std::vector<ActionCount> counts;  // by name
};

// Reads every rank, and some of them again where something is wrong. Sends and receives have to
// match in number and size, collectives in order and arguments; requests have to be completed.
// Lines that cannot be read are findings too; then only they are looked for. Throws TraceError when
// a file cannot be read at all.
//
// In a packed trace of version 2, whose structure says where loops are, the effort follows the
// structure. What is found is the same as by reading every repetition.
CheckReport check(const TraceSet& set, const Progress& progress = {},
                  Loops loops = Loops::by_repetition);

}  // namespace tisim
