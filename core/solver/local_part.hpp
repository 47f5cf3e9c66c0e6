// Some variables of a large component, which share what all others leave of their constraints.
//
// The level of the variables without a share rises, as in progressive filling (filling.hpp, with
// the same thresholds). Meanwhile variables may join: whoever decides that (local_solver.hpp) sees
// to it that no variable joins below the level that has been reached, so that no share which was
// found has to be found again. Constraints that did not saturate the last time are *idle*: they are
// no links of the part, which only notes that its variables use them, unless more of one is used
// than there is; then they become links, and all begins anew.
//
// The sums of the constraints are kept apart from those of the system, in arrays that are small
// where the part is.
//
// The class promises: sums of the links are those of the part's variables without a share; the
// lowest level at which something happens to a link is known.
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
  // A constraint that variables of the part cross.
  struct Link {
    double remaining = 0.0;         // bytes/s, what variables with shares leave of it
    double usage = 0.0;             // 1/s, the sum of weight * priority of flows without a share
    double negligible = 0.0;        // bytes/s; with less left it limits nobody
    double before = kNotSaturated;  // the level at which it saturated in the last solution
    double level = kNotSaturated;   // the same in this one; kUnknownLevel: it limits nobody
    double below = kNotSaturated;   // the levels of variables outside the part are lower
    std::int32_t constraint = -1;
    std::int32_t outside = 0;  // variables with flows that are not in the part
    std::int32_t unfixed = 0;  // variables of the part without a share
    std::int32_t last_use = -1;
    bool slack = false;     // it holds back nobody any more
    bool released = false;  // it does not keep the level `before`
    bool lenient = false;   // it keeps it if more is used of it, too, within the tolerance
    bool outdated = false;  // its next level is a lower bound
  };
  // A variable on a link, or on an idle constraint.
  struct Use {
    std::int32_t link, variable;  // in this part; ~ an idle constraint
    std::int32_t next;            // use of the link by another variable, -1: none
    double weight;                // of all flows of the variable together
  };
  struct Member {
    double limit = 0.0;  // bytes/s, of one flow
    double limit_level = 0.0, penalty = 0.0, priority = 0.0;
    double share = 0.0;   // bytes/s, of one flow
    double before = 0.0;  // the same in the last solution, if each flow had used as much
    std::int32_t variable = -1;
    std::int32_t first_use = 0;
    bool fixed = false;
  };

  LocalPart(KnownLevels& known, double precision) : known_(known), precision_(precision) {}

  void clear();
  // Empties it, too, and gives much memory back: to be called after it has been large.
  void clear_for_long();
  std::int32_t add_link(const Link& link);
  void add_member(std::int32_t index, const Variable& variable, const VariableType& type);
  // The member that was added last crosses a link, or (its complement) an idle constraint.
  void add_use(std::int32_t link, double weight) {
    const Member& member = members_.back();
    const auto number = static_cast<std::int32_t>(uses_.size());
    uses_.push_back({link, static_cast<std::int32_t>(members_.size()) - 1, -1, weight});
    if (link >= 0) attach(number, member);
  }

  // The level at which variables of the part saturate a link, kNone: never.
  double saturation(const Link& link) const {
    return can_saturate(link) ? std::max(link.remaining, 0.0) / link.usage : LevelTree::kNone;
  }
  // True if something happens to it at the level of the last solution before it saturates: it
  // keeps that level, or whom it held back outside the part joins.
  bool reaches_former_level(const Link& link) const {
    if (link.released || link.outside == 0) return false;
    return link.lenient || !can_saturate(link) || link.before * link.usage <= link.remaining;
  }

  // Gives shares to the variables whose limits are reached before the next level of a link, and
  // finds the links to which something happens at that level. False: there is none, and all
  // variables have shares.
  bool rise(Stack<std::int32_t>& due);
  // The properties of a link have been changed.
  void reschedule(const Link& link) {
    next_levels_.set(static_cast<std::size_t>(&link - links_.begin()), next_level(link));
  }
  // All begins anew with the next rise: shares were found for another level of a link.
  void start_over() { starts_over_ = true; }
  // Takes back all shares.
  void begin_again();
  // Idle constraints have become links: `link_of` knows their numbers, -1: one still is idle.
  template <class LinkOf>
  void attach_idle(LinkOf link_of) {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].link >= 0) continue;
      const std::int32_t link = link_of(~uses_[i].link);
      if (link < 0) continue;
      uses_[i].link = link;
      attach(static_cast<std::int32_t>(i), member(uses_[i]));
    }
  }
  // The links that are due saturate, at one level.
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
  // The limit of a member.
  struct Limit {
    double level;
    std::int32_t member;
    bool operator<(const Limit& other) const {  // the lowest comes first in a heap
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
  double level_ = 0.0;  // that has been reached
  Stack<Link> links_;
  Stack<Member> members_;
  Stack<Use> uses_;        // of each member in turn
  Stack<Limit> limits_;    // a heap
  LevelTree next_levels_;  // of the links
  bool starts_over_ = false;
};

}  // namespace tisim::max_min
