// The actions of one resource, ordered by their finish: a binary heap that lies in place while it
// has one action, as nearly always.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/short_list.hpp"

namespace tisim {

struct RunningAction {
  double finish;        // on the virtual clock of the resource
  std::uint32_t order;  // in which the actions began
  std::int32_t owner;   // whoever is told of the end
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

  // Takes the action of an owner out, wherever it is. False: there is none.
  bool remove(std::int32_t owner) {
    RunningAction* const running =
        std::find_if(actions_.begin(), actions_.end(),
                     [owner](const RunningAction& action) { return action.owner == owner; });
    if (running == actions_.end()) return false;
    actions_.erase(running);
    std::make_heap(actions_.begin(), actions_.end(), later);
    return true;
  }

  // In no particular order.
  const RunningAction* begin() const { return actions_.begin(); }
  const RunningAction* end() const { return actions_.end(); }

  bool is_heap() const { return std::is_heap(actions_.begin(), actions_.end(), later); }

 private:
  // Among actions that end together, the one that began last goes first: SimGrid dates those of a
  // host from the newest to the oldest.
  static bool later(const RunningAction& a, const RunningAction& b) {
    return a.finish > b.finish || (a.finish == b.finish && a.order < b.order);
  }

  ShortList<RunningAction> actions_;
};

// Takes the action that ends next out of a heap of actions, and all others that end with it, which
// `ends(finish)` says. `take` is told of each.
template <class Actions, class Ends, class Take>
void take_ended(Actions& actions, Ends ends, Take take) {
  do {
    take(actions.take_first());
  } while (!actions.empty() && ends(actions.first_finish()));
}

}  // namespace tisim
