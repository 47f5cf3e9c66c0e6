// Locks of byte ranges, and the ranges waiting for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/number_index.hpp"
#include "support/pool.hpp"

namespace tisim {

// Waiting ranges in the order of their begins: a treap (Seidel and Aragon 1996) whose nodes store
// the smallest end and the earliest request of their subtrees.
//
// Finding the earliest request that fits into a gap takes logarithmic time, unless ranges of very
// different lengths are mixed.

// A non-empty byte range that a rank holds or waits for. `order`: the order of requests.
struct LockedRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t order = 0;
  std::int32_t rank = -1;  // -1: no range
};

class WaitingRanges {
 public:
  bool empty() const { return root_ < 0; }

  void insert(const LockedRange& range) {
    const std::int32_t added = nodes_.acquire();
    nodes_[added].range = range;
    update(added);
    const auto [before, behind] = split(root_, range);
    root_ = merge(merge(before, added), behind);
  }

  // Removes a range that is present.
  void erase(const LockedRange& range) {
    const auto [before, rest] = split(root_, range);
    LockedRange next = range;
    ++next.order;
    const auto [taken, behind] = split(rest, next);
    nodes_.release(taken);
    root_ = merge(before, behind);
  }

  // Returns the earliest request among the ranges between `begin` and `end`.
  LockedRange first_within(std::int64_t begin, std::int64_t end) const {
    LockedRange best;
    best.order = kLast;
    search(root_, begin, end, best);
    return best;
  }

 private:
  static constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();

  struct Node {
    LockedRange range;
    std::int32_t left = -1, right = -1;
    std::int64_t least_end = 0;     // minimum of the subtree
    std::uint64_t first_order = 0;  // minimum of the subtree
  };

  static bool is_before(const LockedRange& a, const LockedRange& b) {
    return std::pair(a.begin, a.order) < std::pair(b.begin, b.order);
  }
  // Deterministic priorities; a node is above those of lower priority.
  std::uint64_t priority(std::int32_t node) const { return hash_of(nodes_[node].range.order + 1); }

  void update(std::int32_t at) {
    Node& node = nodes_[at];
    node.least_end = node.range.end;
    node.first_order = node.range.order;
    for (const std::int32_t below : {node.left, node.right}) {
      if (below < 0) continue;
      node.least_end = std::min(node.least_end, nodes_[below].least_end);
      node.first_order = std::min(node.first_order, nodes_[below].first_order);
    }
  }

  // Splits a subtree into the ranges before a range, and the rest.
  std::pair<std::int32_t, std::int32_t> split(std::int32_t at, const LockedRange& range) {
    if (at < 0) return {-1, -1};
    if (is_before(nodes_[at].range, range)) {
      const auto [before, behind] = split(nodes_[at].right, range);
      nodes_[at].right = before;
      update(at);
      return {at, behind};
    }
    const auto [before, behind] = split(nodes_[at].left, range);
    nodes_[at].left = behind;
    update(at);
    return {before, at};
  }

  // Requires all of `before` to precede all of `behind`.
  std::int32_t merge(std::int32_t before, std::int32_t behind) {
    if (before < 0) return behind;
    if (behind < 0) return before;
    if (priority(before) > priority(behind)) {
      nodes_[before].right = merge(nodes_[before].right, behind);
      update(before);
      return before;
    }
    nodes_[behind].left = merge(before, nodes_[behind].left);
    update(behind);
    return behind;
  }

  void search(std::int32_t at, std::int64_t begin, std::int64_t end, LockedRange& best) const {
    if (at < 0) return;
    const Node& node = nodes_[at];
    if (node.least_end > end || node.first_order >= best.order) return;
    if (node.range.begin < begin) return search(node.right, begin, end, best);
    if (node.range.end <= end && node.range.order < best.order) best = node.range;
    const bool left_first = order_below(node.left) < order_below(node.right);
    search(left_first ? node.left : node.right, begin, end, best);
    search(left_first ? node.right : node.left, begin, end, best);
  }
  std::uint64_t order_below(std::int32_t at) const {
    return at < 0 ? kLast : nodes_[at].first_order;
  }

  Pool<Node> nodes_;
  std::int32_t root_ = -1;
};

// Locks of ranges of files, as ROMIO takes them while it modifies part of a buffer of a file.
//
// A rank gets its range when no other rank holds part of it. When a range is released, the waiting
// ranges that fit into the free space are granted in the order of requests. Thousands of ranks may
// wait for parts of one file, so nothing here iterates over all of them.
class RangeLocks {
 public:
  // Requests a non-empty range. Returns false if another rank holds part of it; the rank gets it
  // later. A rank has at most one range per file.
  bool take(std::int32_t file, std::int64_t begin, std::int64_t end, std::int32_t rank) {
    const LockedRange range{begin, end, ++last_order_, rank};
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

  // Releases the rank's range of the file, held or waiting. Calls wake(rank) for the ranks that are
  // granted their range, in the order of requests.
  template <class Wake>
  void release(std::int32_t file, std::int32_t rank, Wake&& wake) {
    const auto entry = locks_.find(file);
    if (entry == locks_.end()) return;
    Locks& locks = entry->second;
    const auto of_rank = locks.of_rank.find(rank);
    if (of_rank == locks.of_rank.end()) return;
    const auto [range, is_held] = of_rank->second;
    locks.of_rank.erase(of_rank);
    if (is_held) {
      locks.held.erase(range.begin);
      locks.grant(locks.gap_at(range.begin), wake);
    } else {
      locks.wanted.erase(range);
    }
    if (locks.held.empty()) locks_.erase(entry);
  }

 private:
  // A free range between two held ranges.
  struct Gap {
    std::int64_t begin = std::numeric_limits<std::int64_t>::min();
    std::int64_t end = std::numeric_limits<std::int64_t>::max();
  };
  // A gap and the first range to be granted in it.
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
    std::map<std::int64_t, std::int64_t> held;  // begin and end; not overlapping
    WaitingRanges wanted;
    std::unordered_map<std::int32_t, Place> of_rank;

    bool is_free(const LockedRange& range) const {
      const auto behind = held.lower_bound(range.end);
      return behind == held.begin() || std::prev(behind)->second <= range.begin;
    }

    // The gap around a byte that no rank holds.
    Gap gap_at(std::int64_t byte) const {
      Gap gap;
      const auto behind = held.upper_bound(byte);
      if (behind != held.end()) gap.end = behind->first;
      if (behind != held.begin()) gap.begin = std::prev(behind)->second;
      return gap;
    }

    // Grants the ranges that fit into a gap; each splits it into two smaller ones.
    template <class Wake>
    void grant(const Gap& whole, Wake&& wake) {
      std::priority_queue<Next> next;
      const auto add_gap = [&](std::int64_t begin, std::int64_t end) {
        const LockedRange first = wanted.first_within(begin, end);
        if (first.rank >= 0) next.push({{begin, end}, first});
      };
      add_gap(whole.begin, whole.end);
      while (!next.empty()) {
        const auto [gap, range] = next.top();
        next.pop();
        wanted.erase(range);
        held.emplace(range.begin, range.end);
        of_rank[range.rank].is_held = true;
        wake(range.rank);
        add_gap(gap.begin, range.begin);
        add_gap(range.end, gap.end);
      }
    }
  };

  std::unordered_map<std::int32_t, Locks> locks_;  // by file
  std::uint64_t last_order_ = 0;
};

}  // namespace tisim
