// The ranks that files are of, and whether all ranks are there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/progress.hpp"
#include "trace/storage/trace_file.hpp"

namespace tisim {

// `ranks` in ascending order, each once: throws TraceError, without a line, unless they are 0, 1,
// 2 and so on. `thing` is what a rank should have, a file or a line.
void check_ranks_complete(const std::vector<std::int64_t>& ranks, const std::string& place,
                          std::string_view thing);

// The rank of each of several files, by its first line that is no comment. Throws TraceError unless
// they are 0, 1, 2 and so on, each once; `name` stands for all files.
std::vector<std::int64_t> ranks_of(std::span<const TraceFile> files, const std::string& name,
                                   const Progress& progress = {});

}  // namespace tisim
