// How the ranks of a trace use files, without replaying it.
#pragma once

#include <vector>

#include "support/progress.hpp"
#include "trace/archive/trace_set.hpp"
#include "trace/habits/file_habits.hpp"

namespace tisim {

// Reads the operations of all ranks. What others do to a file is not known: appended writes, and
// those at a position that all ranks share, count as each rank's own; the end of a file is the
// largest offset that the rank itself has come to. File systems are not known either: calls are
// aligned at pages. Throws TraceError.
std::vector<FileUse> traced_files(const TraceSet& set, const Progress& progress);

}  // namespace tisim
