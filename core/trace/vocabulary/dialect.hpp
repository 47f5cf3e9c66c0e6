// The dialects that traces are written in.
#pragma once

#include <cstdint>

namespace tisim {

enum class Dialect : std::uint8_t {
  automatic,  // to be detected (text/dialect.hpp)
  modern,     // SimGrid 3.20 and later: messages have tags
  legacy,     // before
};

}  // namespace tisim
