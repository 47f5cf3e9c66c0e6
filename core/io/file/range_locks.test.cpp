#include "io/file/range_locks.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "core/test.hpp"

namespace tisim {

namespace {

// The same as plainly as can be: every rank that waits is looked at.
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
