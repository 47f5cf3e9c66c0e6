// Codes bytes as single bytes and copies of earlier bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tisim::tit {

// The time is proportional to the number of bytes.
std::string compress_by_copies(std::string_view bytes);

// Returns the decompressed bytes, whose number must be known. Throws FormatError if `coded` cannot
// be the result of compress_by_copies for that many bytes, or is shorter than check_expansion()
// allows.
std::string expand_copies(std::string_view coded, std::size_t expected_size);

}  // namespace tisim::tit
