// Any bytes: they come back from their coding, and as a coding they are expanded or refused.
#include "tit/codec/byte_coder.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tit/codec/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim::tit;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (expand_bytes(compress_bytes(bytes), size) != bytes) std::abort();
  try {
    expand_bytes(bytes, size * 3);
  } catch (const FormatError&) {
    // What is no coding is refused.
  }
  return 0;
}
