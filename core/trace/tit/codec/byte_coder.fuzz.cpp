// Arbitrary bytes: coding them is lossless, and read as a coding they are expanded or refused.
#include "trace/tit/codec/byte_coder.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/codec/copy_coder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim::tit;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string copied = compress_by_copies(bytes);
  if (may_expand(copied, size) && expand_copies(copied, size) != bytes) std::abort();
  try {
    expand_bytes(bytes, size * 3);
  } catch (const FormatError&) {
    // Input that is not a coding is refused.
  }
  try {
    expand_copies(bytes, size * 3);
  } catch (const FormatError&) {
    // Likewise.
  }
  return 0;
}
