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
  static constexpr std::uint32_t kDeepest = 512;

  struct Node {
    std::uint32_t parent;  // the caller; the root represents no function and is its own parent
    std::uint32_t region;
  };

  void enter(std::uint32_t region) {
    if (depth_++ >= kDeepest) return;
    if (nodes_[last_callees_[here_]].region != region || last_callees_[here_] == kRoot) {
      const auto number = static_cast<std::uint32_t>(nodes_.size());
      const std::uint64_t key = std::uint64_t{here_} << 32 | region;
      const auto [known, is_new] = numbers_.emplace(key, number);
      if (is_new) {
        nodes_.push_back({here_, region});
        last_callees_.push_back(kRoot);
      }
      last_callees_[here_] = known->second;
    }
    here_ = last_callees_[here_];
  }

  // A function that is not the innermost one was entered before the trace began.
  void leave(std::uint32_t region) {
    if (depth_ > kDeepest) {
      --depth_;
    } else if (here_ != kRoot && nodes_[here_].region == region) {
      here_ = nodes_[here_].parent;
      --depth_;
    }
  }

  // The node of the innermost function.
  std::uint32_t here() const { return here_; }
  const std::vector<Node>& nodes() const { return nodes_; }

  static constexpr std::uint32_t kRoot = 0;

 private:
  std::uint32_t here_ = kRoot;
  std::uint32_t depth_ = 0;
  std::vector<Node> nodes_{{kRoot, 0}};
  std::vector<std::uint32_t> last_callees_{kRoot};  // of each node; the root if none yet
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

}  // namespace tisim
