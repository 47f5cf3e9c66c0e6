// The volume of a computation, as it is written, in one number.
//
// docs/tit.md has the arithmetic. Codes of the usual forms grow with the volume, so that volumes
// that are close have codes that are close.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tisim::tit {

// The code of texts that have none.
constexpr std::uint64_t kNoVolumeCode = ~std::uint64_t{0};

// The code of a text like 14571, 956140.000000 or 1.59373e+06; kNoVolumeCode when
// append_volume would print another text for the same number, or when it is not a number.
std::uint64_t volume_code(std::string_view text);

// True if it is the volume_code of some text.
bool is_volume_code(std::uint64_t code);

// The text of a code, and its value, rounded as the text would be. The code must be one.
void append_volume(std::uint64_t code, std::string& out);
double volume_value(std::uint64_t code);

}  // namespace tisim::tit
