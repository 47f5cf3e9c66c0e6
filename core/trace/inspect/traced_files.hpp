// Use of files by the ranks of a trace, without a replay.
#pragma once

#include <vector>

#include "support/progress.hpp"
#include "trace/access/access_patterns.hpp"
#include "trace/archive/trace_set.hpp"

namespace tisim {

// Reads the operations of all ranks. The accesses of other ranks to a file are unknown: appended
// writes and those at a shared position count as each rank's own; the end of a file is the largest
// offset that the rank itself has reached. File systems are unknown too: calls are aligned to
// pages. Throws TraceError.
std::vector<FileUse> traced_files(const TraceSet& set, const Progress& progress);

}  // namespace tisim
