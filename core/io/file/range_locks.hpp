// Locks of ranges of files, as ROMIO takes them while it changes a part of a buffer of a file.
//
// A rank has its range when nobody else holds a part of it. When a range is given back, those that
// fit into what is free then get theirs, in the order in which they asked. Thousands of ranks may
// wait for parts of one file: nothing here looks at all of them.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <queue>
#include <unordered_map>
#include <vector>

#include "io/file/waiting_ranges.hpp"

namespace tisim {

class RangeLocks {
 public:
  // False: another rank holds a part of the range, which is not empty; the rank gets it later. It
  // has no other range of the file.
  bool take(std::int32_t file, std::int64_t begin, std::int64_t end, std::int32_t rank) {
    const LockedRange range{begin, end, ++asked_, rank};
    Locks& locks = locks_[file];
    const bool is_free = locks.is_free(range);
    locks.of_rank[rank] = {range, is_free};
    if (is_free) {
      locks.held.emplace(begin, end);
    } else {
      locks.wanted.insert(range);
    }
    return is_free;
  }

  // The rank holds nothing of the file any more, and wants nothing. Calls wake(rank) for those that
  // now have their range, in the order in which they wanted it.
  template <class Wake>
  void release(std::int32_t file, std::int32_t rank, Wake&& wake) {
    const auto found = locks_.find(file);
    if (found == locks_.end()) return;
    Locks& locks = found->second;
    const auto of_rank = locks.of_rank.find(rank);
    if (of_rank == locks.of_rank.end()) return;
    const auto [range, is_held] = of_rank->second;
    locks.of_rank.erase(of_rank);
    if (is_held) {
      locks.held.erase(range.begin);
      locks.give(locks.gap_at(range.begin), wake);
    } else {
      locks.wanted.erase(range);
    }
    if (locks.held.empty()) locks_.erase(found);
  }

 private:
  // What nobody holds between two ranges that are held.
  struct Gap {
    std::int64_t begin = std::numeric_limits<std::int64_t>::min();
    std::int64_t end = std::numeric_limits<std::int64_t>::max();
  };
  // Who gets a part of a gap first.
  struct Next {
    Gap gap;
    LockedRange range;
    friend bool operator<(const Next& a, const Next& b) { return a.range.order > b.range.order; }
  };
  struct Place {
    LockedRange range;
    bool is_held = false;
  };

  struct Locks {
    std::map<std::int64_t, std::int64_t> held;  // begin and end; they do not overlap
    WaitingRanges wanted;
    std::unordered_map<std::int32_t, Place> of_rank;

    bool is_free(const LockedRange& range) const {
      const auto behind = held.lower_bound(range.end);
      return behind == held.begin() || std::prev(behind)->second <= range.begin;
    }

    // Around a byte that nobody holds.
    Gap gap_at(std::int64_t byte) const {
      Gap gap;
      const auto behind = held.upper_bound(byte);
      if (behind != held.end()) gap.end = behind->first;
      if (behind != held.begin()) gap.begin = std::prev(behind)->second;
      return gap;
    }

    // Whoever fits into a gap gets a part of it, which leaves two smaller ones.
    template <class Wake>
    void give(const Gap& whole, Wake&& wake) {
      std::priority_queue<Next> next;
      const auto look_at = [&](std::int64_t begin, std::int64_t end) {
        const LockedRange first = wanted.first_within(begin, end);
        if (first.rank >= 0) next.push({{begin, end}, first});
      };
      look_at(whole.begin, whole.end);
      while (!next.empty()) {
        const auto [gap, range] = next.top();
        next.pop();
        wanted.erase(range);
        held.emplace(range.begin, range.end);
        of_rank[range.rank].is_held = true;
        wake(range.rank);
        look_at(gap.begin, range.begin);
        look_at(range.end, gap.end);
      }
    }
  };

  std::unordered_map<std::int32_t, Locks> locks_;  // by file
  std::uint64_t asked_ = 0;
};

}  // namespace tisim
