// Inspects arbitrary bytes as the sections of a packed trace.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/packed_testing.hpp"
#include "core/section_fuzzing.hpp"
#include "trace/inspect/inspection.hpp"
#include "trace/packed/file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim;
  // Column values are read one by one, and a trace of few bytes may have 2^62 calls.
  constexpr std::uint64_t kMaxCalls = 10'000;
  constexpr std::int32_t kMaxRanks = 1000;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const PackedFile file(test::file_of(test::file_of_sections(bytes)));
    if (file.ranks() > kMaxRanks) return 0;
    inspect(file, file.calls() <= kMaxCalls);
  } catch (const TraceError&) {
    // Input that is not a packed trace is refused.
  }
  return 0;
}
