// Any bytes as the inside of a packed trace, under checksums that are right.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/packed_testing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim;
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string bytes = data[0] % 4 == 0   ? test::with_index(rest)
                            : data[0] % 4 == 1 ? std::string(rest)
                                               : test::with_payload(rest);
  try {
    const auto set = TraceSet::open({test::file_of(bytes)}, "packed");
    CallTable calls;
    for (std::int32_t rank = 0; rank < set->ranks(); ++rank) test::read_all(*set, rank, calls);
  } catch (const TraceError&) {
    // What is no packed trace is refused.
  }
  try {
    const PackedFile file(test::file_of(bytes));
    std::string text;
    for (const PackedFile::Stream& stream : file.streams()) {
      PackedText lines(file, stream, 4096);
      while (lines.next(text)) text.clear();
    }
  } catch (const TraceError&) {
    // Here too.
  }
  return 0;
}
