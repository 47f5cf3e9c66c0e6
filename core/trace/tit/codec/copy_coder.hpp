// Bytes coded as copies of bytes before them and single bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tisim::tit {

// Works in time proportional to the number of bytes.
std::string compress_by_copies(std::string_view bytes);

// The bytes that were compressed; their number must be known. Throws FormatError when `coded`
// cannot be the result of compress_by_copies for so many bytes, or is so in fewer bytes than
// check_expansion() takes.
std::string expand_copies(std::string_view coded, std::size_t expected_size);

}  // namespace tisim::tit
