// The actions of one resource, ordered by their finish: a binary heap, stored in place in the
// common case of a single action.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/short_list.hpp"

namespace tisim {

struct RunningAction {
  double finish;        // reading of the resource's virtual clock at its end
  std::uint32_t order;  // order of starting
  std::int32_t owner;   // notified of the end
};

class ActionList {
 public:
  bool empty() const { return actions_.empty(); }
  std::size_t size() const { return actions_.size(); }
  double first_finish() const { return actions_.begin()->finish; }

  void push(const RunningAction& action) {
    actions_.push_back(action);
    if (actions_.size() > 1) std::push_heap(actions_.begin(), actions_.end(), later);
  }

  RunningAction take_first() {
    const RunningAction first = actions_.front();
    std::pop_heap(actions_.begin(), actions_.end(), later);
    actions_.pop_back();
    return first;
  }

  // Removes an owner's action. Returns false if it has none.
  bool remove(std::int32_t owner) {
    RunningAction* const running =
        std::find_if(actions_.begin(), actions_.end(),
                     [owner](const RunningAction& action) { return action.owner == owner; });
    if (running == actions_.end()) return false;
    actions_.erase(running);
    std::make_heap(actions_.begin(), actions_.end(), later);
    return true;
  }

  // Iterates in no particular order.
  const RunningAction* begin() const { return actions_.begin(); }
  const RunningAction* end() const { return actions_.end(); }

  bool is_heap() const { return std::is_heap(actions_.begin(), actions_.end(), later); }

 private:
  // Of actions that end together, the last to begin goes first: SimGrid schedules those of a host
  // from newest to oldest.
  static bool later(const RunningAction& a, const RunningAction& b) {
    return a.finish > b.finish || (a.finish == b.finish && a.order < b.order);
  }

  ShortList<RunningAction> actions_;
};

// Removes the action that ends next from a heap, and all others that end with it according to
// `ends(finish)`. Calls `take` for each.
template <class Actions, class Ends, class Take>
void take_ended(Actions& actions, Ends ends, Take take) {
  do {
    take(actions.take_first());
  } while (!actions.empty() && ends(actions.first_finish()));
}

}  // namespace tisim
