// Reads arbitrary bytes as the log of a rank, with valid checksums, and as merged parts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/recorder/part_log.hpp"
#include "trace/tit/recorder/part_set.hpp"

namespace {

using namespace tisim::tit;

// Splits the input into records: two bytes of length and a kind each.
std::string log_of(ByteReader in) {
  Bytes log;
  log.data.assign("\x89TIR\r\n\x1a\n", 8);
  while (in.left() >= 2) {
    const std::uint8_t kind = in.byte();
    const std::size_t size = std::size_t{in.byte()} % (in.left() + 1);
    const std::string_view payload = in.bytes(size);
    log.byte(kind);
    log.varint(size);
    log.fixed32(crc32c(payload.data(), size));
    log.data.append(payload.data(), size);
  }
  return log.data;
}

std::string parts_of(ByteReader in) {
  const std::string_view body = in.bytes(in.left());
  Bytes parts;
  parts.data.assign("\x89TIP\r\n\x1a\n", 8);
  parts.varint(3);
  parts.fixed32(crc32c(body.data(), body.size()));
  parts.data.append(body.data(), body.size());
  return parts.data;
}

void use(PartSet set) {
  const std::string bytes = set.write();
  if (PartSet::read(bytes).write() != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0) use(PartSet::from_log(log_of(ByteReader(rest))));
    if (data[0] % 2 == 1) use(PartSet::read(parts_of(ByteReader(rest))));
  } catch (const FormatError&) {
    // Input that is not a part is refused.
  }
  return 0;
}
