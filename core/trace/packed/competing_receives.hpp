// Receives of a rank that compete for messages.
#pragma once

#include <cstdint>

#include "trace/grammar/line_parser.hpp"
#include "trace/packed/file.hpp"

namespace tisim {

// True if the rank has a receive from any source and another one that could take the same message
// but asks for another source or tag. Then the message taken by the first one matters: what remains
// must match the other one.
bool receives_compete(const PackedFile& file, const TraceGrammar& grammar, std::int32_t rank);

}  // namespace tisim
