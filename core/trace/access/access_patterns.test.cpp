#include "trace/access/access_patterns.hpp"

#include "core/test.hpp"

namespace tisim {

TEST("access patterns: accesses in a row, behind a gap, and backwards") {
  AccessPatterns patterns;
  AccessPatterns::Ends ends = patterns.open("out.%d", 0, 1000);
  patterns.access(ends, true, 0, 99, 99);        // the first one follows nothing
  patterns.access(ends, true, 99, 901, 1000);    // consecutive
  patterns.access(ends, true, 2000, 100, 2100);  // sequential
  patterns.access(ends, true, 0, 2000, 2000);    // neither
  patterns.access(ends, false, 5, 2'000'000'000, 2'000'000'005);
  const FileUse& use = patterns.uses().front();
  CHECK(use.writes.calls == 4);
  CHECK(use.writes.bytes == 3100);
  CHECK(use.writes.consecutive == 1);
  CHECK(use.writes.sequential == 2);
  CHECK(use.writes.aligned == 3);
  CHECK(use.writes.sizes[0] == 1);
  CHECK(use.writes.sizes[1] == 2);
  CHECK(use.writes.sizes[2] == 1);
  CHECK(use.reads.sequential == 0);
  CHECK(use.reads.sizes.back() == 1);
  CHECK(use.reads.aligned == 0);
}

TEST("access patterns: what follows an access with holes begins behind its last byte") {
  AccessPatterns patterns;
  AccessPatterns::Ends ends = patterns.open("a", 0, 1000);
  patterns.access(ends, true, 0, 50, 90);
  patterns.access(ends, true, 90, 50, 180);
  const FileUse& use = patterns.uses().front();
  CHECK(use.writes.bytes == 100);
  CHECK(use.writes.consecutive == 1);
}

TEST("access patterns: handles are apart, names on one file system together") {
  AccessPatterns patterns;
  AccessPatterns::Ends first = patterns.open("a", -1, 4096);
  AccessPatterns::Ends second = patterns.open("a", -1, 4096);
  patterns.access(first, false, 0, 10, 10);
  patterns.access(second, false, 10, 10, 20);  // the first access of its handle
  CHECK(patterns.uses().size() == 1);
  CHECK(patterns.uses().front().opens == 2);
  CHECK(patterns.uses().front().reads.consecutive == 0);
  CHECK(patterns.open("a", 0, 4096).use == 1);
}

TEST("access patterns: names beyond the most are one use") {
  AccessPatterns patterns;
  for (std::size_t i = 0; i < AccessPatterns::kMaxNames + 10; ++i) {
    patterns.open("f" + std::to_string(i), -1, 4096);
  }
  CHECK(patterns.uses().size() == AccessPatterns::kMaxNames + 1);
  CHECK(patterns.uses().back().name.empty());
  CHECK(patterns.uses().back().opens == 10);
  CHECK(patterns.open("f3", -1, 4096).use == 3);
}

}  // namespace tisim
