// Actions ordered by their finish: an intrusive pairing heap (Fredman et al. 1986) of actions in a
// pool.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "support/pool.hpp"

namespace tisim {

// `Action` has `double finish` and `std::int32_t child, sibling`, both -1 if it is in no heap. A
// heap is the number of its root, or -1 if empty.
template <class Action>
class PairingHeap {
 public:
  PairingHeap(Pool<Action>& actions, std::int32_t& root) : actions_(actions), root_(root) {}

  bool empty() const { return root_ < 0; }
  double first_finish() const { return actions_[root_].finish; }

  void push(std::int32_t action) { root_ = root_ < 0 ? action : meld(root_, action); }

  // Removes and returns the action that ends next.
  std::int32_t take_first() {
    const std::int32_t taken = root_;
    std::int32_t paired = -1;  // list of pairwise melded heaps, in reverse order
    for (std::int32_t next = actions_[taken].child; next >= 0;) {
      const std::int32_t a = next;
      const std::int32_t b = actions_[a].sibling;
      next = b >= 0 ? actions_[b].sibling : -1;
      actions_[a].sibling = -1;
      std::int32_t two = a;
      if (b >= 0) {
        actions_[b].sibling = -1;
        two = meld(a, b);
      }
      actions_[two].sibling = paired;
      paired = two;
    }
    std::int32_t root = paired;
    if (root >= 0) {
      paired = actions_[root].sibling;
      actions_[root].sibling = -1;
      while (paired >= 0) {
        const std::int32_t next = actions_[paired].sibling;
        actions_[paired].sibling = -1;
        root = meld(root, paired);
        paired = next;
      }
    }
    root_ = root;
    return taken;
  }

  // Removes an action at any position. Returns false if it is not in the heap.
  bool remove(std::int32_t action) {
    std::vector<std::int32_t> all;
    list(actions_, root_, all);
    bool present = false;
    for (const std::int32_t member : all) present |= member == action;
    if (!present) return false;
    root_ = -1;
    for (const std::int32_t member : all) {
      actions_[member].child = actions_[member].sibling = -1;
      if (member != action) push(member);
    }
    return true;
  }

  // Appends all actions of a heap, in no particular order.
  static void list(const Pool<Action>& actions, std::int32_t root, std::vector<std::int32_t>& all) {
    std::size_t next = all.size();
    if (root >= 0) all.push_back(root);
    for (; next < all.size(); ++next) {
      for (std::int32_t child = actions[all[next]].child; child >= 0;
           child = actions[child].sibling) {
        all.push_back(child);
      }
    }
  }

 private:
  std::int32_t meld(std::int32_t a, std::int32_t b) {
    if (actions_[b].finish < actions_[a].finish) std::swap(a, b);
    actions_[b].sibling = actions_[a].child;
    actions_[a].child = b;
    return a;
  }

  Pool<Action>& actions_;
  std::int32_t& root_;
};

}  // namespace tisim
