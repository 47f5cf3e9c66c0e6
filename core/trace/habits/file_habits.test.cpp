#include "trace/habits/file_habits.hpp"

#include "core/test.hpp"

namespace tisim {

TEST("file habits: accesses in a row, behind a gap, and backwards") {
  FileHabits habits;
  FileHabits::Ends ends = habits.open("out.%d", 0, 1000);
  habits.access(ends, true, 0, 99, 99);        // the first one follows nothing
  habits.access(ends, true, 99, 901, 1000);    // consecutive
  habits.access(ends, true, 2000, 100, 2100);  // sequential
  habits.access(ends, true, 0, 2000, 2000);    // neither
  habits.access(ends, false, 5, 2'000'000'000, 2'000'000'005);
  const FileUse& use = habits.uses().front();
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

TEST("file habits: what follows an access with holes begins behind its last byte") {
  FileHabits habits;
  FileHabits::Ends ends = habits.open("a", 0, 1000);
  habits.access(ends, true, 0, 50, 90);
  habits.access(ends, true, 90, 50, 180);
  const FileUse& use = habits.uses().front();
  CHECK(use.writes.bytes == 100);
  CHECK(use.writes.consecutive == 1);
}

TEST("file habits: handles are apart, names on one file system together") {
  FileHabits habits;
  FileHabits::Ends first = habits.open("a", -1, 4096);
  FileHabits::Ends second = habits.open("a", -1, 4096);
  habits.access(first, false, 0, 10, 10);
  habits.access(second, false, 10, 10, 20);  // the first access of its handle
  CHECK(habits.uses().size() == 1);
  CHECK(habits.uses().front().opens == 2);
  CHECK(habits.uses().front().reads.consecutive == 0);
  CHECK(habits.open("a", 0, 4096).use == 1);
}

TEST("file habits: names beyond the most are one use") {
  FileHabits habits;
  for (std::size_t i = 0; i < FileHabits::kMost + 10; ++i) {
    habits.open("f" + std::to_string(i), -1, 4096);
  }
  CHECK(habits.uses().size() == FileHabits::kMost + 1);
  CHECK(habits.uses().back().name.empty());
  CHECK(habits.uses().back().opens == 10);
  CHECK(habits.open("f3", -1, 4096).use == 3);
}

}  // namespace tisim
