// Reads arbitrary bytes as the sections of a packed trace of version 2, with valid checksums.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/packed_testing.hpp"
#include "core/section_fuzzing.hpp"
#include "trace/packed/calls.hpp"
#include "trace/packed/file.hpp"
#include "trace/packed/unpack.hpp"

namespace {

using namespace tisim;

// A trace of few bytes may have 2^62 calls.
constexpr int kMaxBatches = 200;
constexpr int kMaxLines = 2000;
constexpr std::int32_t kMaxRanks = 8;

void read(const std::string& bytes) {
  const auto set = TraceSet::open({test::file_of(bytes)}, "packed");
  CallTable calls;
  std::vector<Op> ops(64);
  for (std::int32_t rank = 0; rank < std::min(set->ranks(), kMaxRanks); ++rank) {
    const auto reader = set->open(rank, calls);
    for (int left = kMaxBatches; left > 0 && reader->read(ops.data(), ops.size()) > 0;) --left;
  }
}

void print(const std::string& bytes) {
  const PackedFile file(test::file_of(bytes));
  std::string line;
  for (std::int32_t rank = 0; rank < std::min(file.ranks(), kMaxRanks); ++rank) {
    PackedText text(file, rank);
    for (int left = kMaxLines; left > 0 && text.next(line); --left) line.clear();
  }
}

void walk(const std::string& bytes) {
  const PackedFile file(test::file_of(bytes));
  if (file.attributes() == nullptr) return;
  for (std::int32_t rank = 0; rank < std::min(file.ranks(), kMaxRanks); ++rank) {
    // next() passes lines without attributes in one call, so the lines are limited instead.
    if (file.calls_of(rank) > kMaxLines) continue;
    for (AttributeWalk walk(file, rank); walk.next();) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string bytes = data[0] % 8 == 0 ? std::string(rest) : test::file_of_sections(rest);
  try {
    graph_in(test::file_of(bytes));
  } catch (const TraceError&) {
    // Input that is not a packed file is refused.
  }
  try {
    read(bytes);
  } catch (const TraceError&) {
    // Input that is not a packed trace is refused.
  }
  try {
    print(bytes);
  } catch (const TraceError&) {
    // Likewise.
  }
  try {
    walk(bytes);
  } catch (const TraceError&) {
    // Likewise.
  }
  return 0;
}
