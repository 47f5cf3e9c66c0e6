// Reads arbitrary bytes as a trace: the result is operations or a TraceError, and it is the same
// without the reader's fast paths.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/reference_reading.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Dialect dialect = data[0] % 2 == 0 ? Dialect::modern : Dialect::legacy;
  if (!test::reads_alike(text, 4, dialect, 1 + data[0] % 7)) std::abort();
  try {
    const auto set = TraceSet::open({test::file_of(text)}, "all");
    CallTable calls;
    for (std::int32_t rank = 0; rank < set->ranks(); ++rank) test::read_all(*set, rank, calls);
  } catch (const TraceError&) {
    // Input that is not a trace is refused.
  }
  return 0;
}
