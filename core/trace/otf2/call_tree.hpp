// The functions that a rank is in, as a tree of call paths.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tisim {

// Entering the same function again from a caller needs no table lookup, unless the caller has
// entered another one in between.
class CallTree {
 public:
  // Deeper functions count as their callers: a runaway recursion is not worth a tree.
  static constexpr std::uint32_t kMaxDepth = 512;

  struct Node {
    std::uint32_t parent;  // the caller; the root represents no function and is its own parent
    std::uint32_t region;
  };

  void enter(std::uint32_t region) {
    if (depth_++ >= kMaxDepth) return;
    if (nodes_[last_callees_[current_]].region != region || last_callees_[current_] == kRoot) {
      const auto number = static_cast<std::uint32_t>(nodes_.size());
      const std::uint64_t key = std::uint64_t{current_} << 32 | region;
      const auto [known, is_new] = numbers_.emplace(key, number);
      if (is_new) {
        nodes_.push_back({current_, region});
        last_callees_.push_back(kRoot);
      }
      last_callees_[current_] = known->second;
    }
    current_ = last_callees_[current_];
  }

  // A function that is not the innermost one was entered before the trace began.
  void leave(std::uint32_t region) {
    if (depth_ > kMaxDepth) {
      --depth_;
    } else if (current_ != kRoot && nodes_[current_].region == region) {
      current_ = nodes_[current_].parent;
      --depth_;
    }
  }

  // The node of the innermost function.
  std::uint32_t current() const { return current_; }
  const std::vector<Node>& nodes() const { return nodes_; }

  static constexpr std::uint32_t kRoot = 0;

 private:
  std::uint32_t current_ = kRoot;
  std::uint32_t depth_ = 0;
  std::vector<Node> nodes_{{kRoot, 0}};
  std::vector<std::uint32_t> last_callees_{kRoot};  // of each node; the root if none yet
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

}  // namespace tisim
