// Receives of a rank that compete for messages.
#pragma once

#include <cstdint>

#include "trace/grammar/line_parser.hpp"
#include "trace/packed/file.hpp"

namespace tisim {

// True if the rank has a receive from any source and another that could take the same message but
// asks for another source or tag. It then matters which message the first one takes: what is left
// must be what the other one waits for.
bool receives_compete(const PackedFile& file, const TraceGrammar& grammar, std::int32_t rank);

}  // namespace tisim
