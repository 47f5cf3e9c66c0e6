// How the lines of a trace are read: what all its ranks have in common.
#pragma once

#include <cstdint>

#include "trace/vocabulary/dialect.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// What SimGrid's tracer writes for both ANY_SOURCE and PROC_NULL.
inline constexpr std::int64_t kSimGridNull = -333;

struct TraceGrammar {
  std::int32_t ranks = 0;
  Dialect dialect = Dialect::modern;  // never automatic
  bool mistaken_null_is_any = true;   // -333 in a receive
  bool keeps_locations = false;       // `location` lines keep their words (kHasLocation)
  const Vocabulary* vocabulary = nullptr;
};

}  // namespace tisim
