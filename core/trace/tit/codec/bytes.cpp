#include "trace/tit/codec/bytes.hpp"

namespace tisim {
namespace tit {

void ByteReader::too_short() { throw FormatError("the bytes end too early"); }

void ByteReader::too_large(std::uint64_t value, std::uint64_t most, const char* what) {
  throw FormatError(std::string(what) + " is " + std::to_string(value) + ", but at most " +
                    std::to_string(most) + " is possible");
}

}  // namespace tit
}  // namespace tisim
