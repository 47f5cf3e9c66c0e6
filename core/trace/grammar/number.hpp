// Numbers of a trace: 12, -333, +5, 1e6, 1.59373e+06.
#pragma once

#include <cstdint>
#include <string_view>

namespace tisim {

enum class NumberFault : std::uint8_t { none, not_a_number, not_whole, too_large };

// A whole number in whatever spelling (1e6 and 2.0 are whole).
NumberFault read_whole(std::string_view text, std::int64_t& value);

// A finite number, rounded correctly.
NumberFault read_real(std::string_view text, double& value);

}  // namespace tisim
