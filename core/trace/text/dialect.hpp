// Which dialect a trace is written in.
#pragma once

#include <span>

#include "trace/trace_file.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// Decided by the first line that only one dialect allows, in the beginnings of the first files:
// modern: a comment `# version: ...`, a send or receive with four arguments or with three of which
//   the last is not a type (a tag and a count), a wait or test with three, a `comm=`;
// legacy: a send with two, a receive with one or two, a wait or test with none.
// Without such a line, names written as only the legacy dialect does (Isend, allReduce) decide,
// and else it is the modern one. Throws TraceError when a file cannot be read.
Dialect detect_dialect(std::span<const TraceFile> files);

}  // namespace tisim
