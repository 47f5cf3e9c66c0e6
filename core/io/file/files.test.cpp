#include "trace/vocabulary/files.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "core/test.hpp"
#include "io/file/file_table.hpp"
#include "io/file/range_locks.hpp"

namespace tisim {

namespace {

bool write(FileTable& table, std::int32_t file, std::int64_t offset, std::int64_t bytes) {
  return table.extend(file, FileTable::end_of(offset, bytes), table.growth(file, offset, bytes));
}

}  // namespace

TEST("file table: writes make a file longer, and holes take no room") {
  const std::vector<double> capacities{100.0, 1e9};
  FileTable table(capacities);
  const std::int32_t file = table.add(0, "a", 0);
  CHECK(table.find(0, "a") == file);
  CHECK(table.find(1, "a") == FileTable::kNone);
  CHECK(write(table, file, 0, 60));
  CHECK(write(table, file, 30, 30));
  CHECK(table[file].length == 60);
  CHECK(write(table, file, 1000, 40));
  CHECK(table[file].length == 1040);
  CHECK(!write(table, file, 1040, 1));
  table.verify();
}

TEST("file table: a removed file is there until its last handle is closed") {
  const std::vector<double> capacities{100.0};
  FileTable table(capacities);
  const std::int32_t file = table.add(0, "a", 0);
  ++table[file].handles;
  CHECK(write(table, file, 0, 100));
  table.unlink(file);
  CHECK(table.find(0, "a") == FileTable::kNone);
  const std::int32_t other = table.add(0, "a", 0);
  CHECK(!write(table, other, 0, 1));
  table.release(file);
  CHECK(write(table, other, 0, 100));
  table.truncate(other);
  table.verify();
}

TEST("file table: nobody knows the end of a file that was there before") {
  const std::vector<double> capacities{0.0};
  FileTable table(capacities);
  const std::int32_t file = table.add(0, "a", kUnknownSize);
  CHECK(write(table, file, 1000, 1000));
  CHECK(table[file].length == kUnknownSize);
}

namespace {

// A naive reference implementation: it scans all waiting ranks.
class PlainLocks {
 public:
  bool take(std::int64_t begin, std::int64_t end, std::int32_t rank) {
    const LockedRange range{begin, end, 0, rank};
    const bool is_free = this->is_free(range);
    (is_free ? held_ : wanted_).push_back(range);
    return is_free;
  }

  std::vector<std::int32_t> release(std::int32_t rank) {
    const auto is_of_rank = [rank](const LockedRange& range) { return range.rank == rank; };
    std::erase_if(held_, is_of_rank);
    std::erase_if(wanted_, is_of_rank);
    std::vector<std::int32_t> woken;
    std::erase_if(wanted_, [&](const LockedRange& range) {
      if (!is_free(range)) return false;
      held_.push_back(range);
      woken.push_back(range.rank);
      return true;
    });
    return woken;
  }

 private:
  bool is_free(const LockedRange& range) const {
    return std::none_of(held_.begin(), held_.end(), [&range](const LockedRange& other) {
      return other.begin < range.end && range.begin < other.end;
    });
  }

  std::vector<LockedRange> held_, wanted_;
};

std::vector<std::int32_t> released(RangeLocks& locks, std::int32_t file, std::int32_t rank) {
  std::vector<std::int32_t> woken;
  locks.release(file, rank, [&woken](std::int32_t other) { woken.push_back(other); });
  return woken;
}

}  // namespace

TEST("range locks: random ranges go to the ranks that a plain list gives them to") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](int most) {
      return static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
    };
    const int ranks = 2 + draw(40);
    const int longest = 1 + draw(seed % 2 == 0 ? 8 : 200);
    RangeLocks locks;
    PlainLocks plain;
    std::vector<bool> asked(static_cast<std::size_t>(ranks));
    for (int step = 0; step < 600; ++step) {
      const std::int32_t rank = draw(ranks);
      const auto place = static_cast<std::size_t>(rank);
      if (asked[place]) {
        CHECK(released(locks, 7, rank) == plain.release(rank));
      } else {
        const std::int64_t begin = draw(300);
        const std::int64_t end = begin + 1 + draw(longest);
        CHECK(locks.take(7, begin, end, rank) == plain.take(begin, end, rank));
      }
      asked[place] = !asked[place];
    }
  }
}

}  // namespace tisim
