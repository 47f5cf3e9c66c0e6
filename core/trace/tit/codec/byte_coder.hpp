// Bytes coded adaptively, without tables of their own: what tables and grammars are stored as.
//
// Each bit of a byte, the high one first, is predicted from what was coded so far and goes into a
// binary arithmetic coder with its probability. docs/tit.md has the arithmetic, number by number.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tisim {
namespace tit {

// Works in time proportional to the number of bytes, about a megabyte a second.
std::string compress_bytes(std::string_view bytes);

// The bytes that were compressed; their number must be known. Throws FormatError when `coded`
// cannot be the result of compress_bytes for so many bytes. It allocates at most about 2,100 bytes
// for each byte of `coded`.
std::string expand_bytes(std::string_view coded, std::size_t expected_size);

}  // namespace tit
}  // namespace tisim
