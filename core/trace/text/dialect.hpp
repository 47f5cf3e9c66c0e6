// Detection of the dialect of a trace.
#pragma once

#include <span>

#include "trace/trace_file.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// Determined by the first line that only one dialect allows, in the beginnings of the first files:
// modern: a comment `# version: ...`, a send or receive with four arguments or with three of which
//   the last is not a type (a tag and a count), a wait or test with three, a `comm=`;
// legacy: a send with two, a receive with one or two, a wait or test with none.
// Without such a line, names in the legacy dialect's spelling (Isend, allReduce) decide; otherwise
// the dialect is modern. Throws TraceError if a file cannot be read.
Dialect detect_dialect(std::span<const TraceFile> files);

}  // namespace tisim
