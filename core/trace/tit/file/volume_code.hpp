// The text of a computation's volume as a single number.
//
// docs/tit.md describes the arithmetic. Codes of the usual forms increase with the volume, so that
// close volumes have close codes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tisim::tit {

// Result for texts without a code.
constexpr std::uint64_t kNoVolumeCode = ~std::uint64_t{0};

// The code of a text such as 14571, 956140.000000 or 1.59373e+06; kNoVolumeCode if append_volume
// would print another text for the same number, or if it is not a number.
std::uint64_t volume_code(std::string_view text);

// True if it is the volume_code of some text.
bool is_volume_code(std::uint64_t code);

// The text of a valid code, and its value, rounded like the text.
void append_volume(std::uint64_t code, std::string& out);
double volume_value(std::uint64_t code);

}  // namespace tisim::tit
