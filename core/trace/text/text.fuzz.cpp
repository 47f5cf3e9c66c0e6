// Any bytes as a trace: either operations come out or a TraceError, and the reader's short cuts
// make no difference.
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
    // Refuses what is not a trace.
  }
  return 0;
}
