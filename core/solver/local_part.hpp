// A subset of the variables of a large component, which share the capacity that all others leave.
//
// The level of the variables without a share rises, as in progressive filling (filling.hpp, with
// the same thresholds). Meanwhile variables may join; the caller (local_solver.hpp) ensures that
// none joins below the current level, so that no share has to be computed twice. Constraints that
// did not saturate in the last solution are *idle*: the part only records their use and does not
// treat them as links, unless their capacity is exceeded; then they become links, and the rise
// restarts.
//
// The sums of the constraints are kept separate from those of the system, in small arrays.
//
// Invariants: the sums of the links cover the part's variables without a share; the lowest level at
// which a link is due is known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "solver/known_levels.hpp"
#include "solver/level_tree.hpp"
#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

class LocalPart {
 public:
  // A constraint crossed by variables of the part.
  struct Link {
    double remaining = 0.0;         // bytes/s, capacity left by variables with shares
    double usage = 0.0;             // 1/s, sum of weight * priority of the flows without a share
    double negligible = 0.0;        // bytes/s; with less remaining it limits no variable
    double before = kNotSaturated;  // saturation level in the last solution
    double level = kNotSaturated;   // saturation level in this one; kUnknownLevel: limits nothing
    double below = kNotSaturated;   // upper bound of the levels of variables outside the part
    std::int32_t constraint = -1;
    std::int32_t outside = 0;  // variables with flows outside the part
    std::int32_t unfixed = 0;  // variables of the part without a share
    std::int32_t last_use = -1;
    bool slack = false;     // whether it can limit no variable
    bool released = false;  // whether it gives up the level `before`
    bool lenient = false;   // whether it keeps that level within the tolerance even if overused
    bool outdated = false;  // whether its next level is only a lower bound
  };
  // Use of a link, or of an idle constraint, by a variable.
  struct Use {
    std::int32_t link, variable;  // indices in this part; ~ an idle constraint
    std::int32_t next;            // next use of the same link, or -1
    double weight;                // weight of all flows of the variable together
  };
  struct Member {
    double limit = 0.0;  // bytes/s, of one flow
    double limit_level = 0.0, penalty = 0.0, priority = 0.0;
    double share = 0.0;   // bytes/s, of one flow
    double before = 0.0;  // share in the last solution, scaled to the current number of flows
    std::int32_t variable = -1;
    std::int32_t first_use = 0;
    bool fixed = false;
  };

  LocalPart(KnownLevels& known, double precision) : known_(known), precision_(precision) {}

  void clear();
  // Also releases large buffers: to be called after the part has been large.
  void clear_and_release();
  std::int32_t add_link(const Link& link);
  void add_member(std::int32_t index, const Variable& variable, const VariableType& type);
  // The member added last uses a link or (its complement) an idle constraint.
  void add_use(std::int32_t link, double weight) {
    const Member& member = members_.back();
    const auto number = static_cast<std::int32_t>(uses_.size());
    uses_.push_back({link, static_cast<std::int32_t>(members_.size()) - 1, -1, weight});
    if (link >= 0) attach(number, member);
  }

  // Level at which variables of the part saturate a link; kNone: never.
  double saturation(const Link& link) const {
    return can_saturate(link) ? std::max(link.remaining, 0.0) / link.usage : LevelTree::kNone;
  }
  // Returns true if the link reaches the level of the last solution before it saturates: it keeps
  // that level, or the variables that it limited outside the part join.
  bool reaches_former_level(const Link& link) const {
    if (link.released || link.outside == 0) return false;
    return link.lenient || !can_saturate(link) || link.before * link.usage <= link.remaining;
  }

  // Gives shares to the variables whose limits are below the next level of a link, and finds the
  // links due at that level. Returns false if there are none and all variables have shares.
  bool rise(Stack<std::int32_t>& due);
  // Called after the properties of a link have changed.
  void reschedule(const Link& link) {
    next_levels_.set(static_cast<std::size_t>(&link - links_.begin()), next_level(link));
  }
  // Restarts at the next rise: shares were computed for another level of a link.
  void request_restart() { restart_requested_ = true; }
  // Resets all shares.
  void reset_shares();
  // Attaches idle constraints that have become links: `link_of` returns their numbers, or -1 if
  // still idle.
  template <class LinkOf>
  void attach_woken(LinkOf link_of) {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].link >= 0) continue;
      const std::int32_t link = link_of(~uses_[i].link);
      if (link < 0) continue;
      uses_[i].link = link;
      attach(static_cast<std::int32_t>(i), member(uses_[i]));
    }
  }
  // Saturates the links due, at one level.
  void saturate(const Stack<std::int32_t>& due);

  Stack<Link>& links() { return links_; }
  const Stack<Member>& members() const { return members_; }
  const Use& use(std::int32_t index) const { return uses_[static_cast<std::size_t>(index)]; }
  const Member& member(const Use& use) const {
    return members_[static_cast<std::size_t>(use.variable)];
  }
  std::size_t uses() const { return uses_.size(); }
  std::span<const Use> uses_of(std::size_t member) const {
    return {uses_.begin() + members_[member].first_use, uses_.begin() + uses_end(member)};
  }

 private:
  // The limit of a member, ordered so that the lowest is first in a heap.
  struct Limit {
    double level;
    std::int32_t member;
    bool operator<(const Limit& other) const {  // lowest first in a heap
      return level > other.level || (level == other.level && member > other.member);
    }
  };

  bool can_saturate(const Link& link) const {
    return link.unfixed > 0 && link.usage > precision_ && !link.slack;
  }
  double next_level(const Link& link) const {
    return reaches_former_level(link) ? link.before : saturation(link);
  }
  void attach(std::int32_t use, const Member& member);
  void update(Link& link);
  double lowest_level();
  bool fix_limited(double level);
  void fix(std::size_t member, double share);
  std::size_t uses_end(std::size_t member) const {
    return member + 1 < members_.size() ? static_cast<std::size_t>(members_[member + 1].first_use)
                                        : uses_.size();
  }

  KnownLevels& known_;
  double precision_;
  double level_ = 0.0;  // current level
  Stack<Link> links_;
  Stack<Member> members_;
  Stack<Use> uses_;        // grouped by member
  Stack<Limit> limits_;    // a heap
  LevelTree next_levels_;  // of the links
  bool restart_requested_ = false;
};

}  // namespace tisim::max_min
