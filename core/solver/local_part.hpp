// Some variables of a large component, filled up on what all others leave of their constraints.
//
// Only variables of the part move. A constraint that a single variable of the part crosses limits
// that variable like a bound; the others are *open* while variables on them have no share. The sums
// are kept apart from those of the system: the part is filled up again each time it grows, and a
// filling touches nothing but these arrays.
//
// The class promises: after `fill` the variables of the part have the shares that progressive
// filling (filling.hpp, with the same thresholds) would give them if no other variable moved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/known_levels.hpp"
#include "solver/level_tree.hpp"
#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

class LocalPart {
 public:
  // A constraint that variables of the part cross.
  struct Link {
    double remaining = 0.0;         // bytes/s, what variables outside the part leave of it
    double usage = 0.0;             // 1/s, the sum of weight * priority of the part's flows
    double negligible = 0.0;        // bytes/s; with less left it limits nobody
    double before = kNotSaturated;  // the level at which it saturated in the last solution
    double level = kNotSaturated;   // the same in this one; kUnknownLevel: it limits nobody
    double left = 0.0;              // bytes/s, of its capacity after the filling
    std::int32_t constraint = -1;
    std::int32_t crossings = 0;  // variables of the part
    std::int32_t last_use = -1;
    std::int32_t open = -1;  // among the open ones
    bool slack = false;
    bool held = false;  // it keeps that level; whether it can is found out after the filling
  };
  // A variable on a link.
  struct Use {
    std::int32_t link, variable;  // in this part
    std::int32_t next;            // use of the link by another variable, -1: none
    double weight;                // of all flows of the variable together
  };
  struct Member {
    double limit = 0.0;  // bytes/s, of one flow
    double limit_level = 0.0, penalty = 0.0, priority = 0.0;
    double share = 0.0;  // bytes/s, of one flow
    std::int32_t variable = -1;
    std::int32_t first_use = 0;
    bool fixed = false;
  };

  LocalPart(KnownLevels& known, double precision) : known_(known), precision_(precision) {}

  void clear();
  std::int32_t add_link(const Link& link) {
    links_.push_back(link);
    return static_cast<std::int32_t>(links_.size()) - 1;
  }
  void add_member(std::int32_t index, const Variable& variable, const VariableType& type);
  // The member that was added last crosses a link.
  void add_use(std::int32_t link, const Variable& variable, const VariableType& type,
               double weight);

  void fill();

  Stack<Link>& links() { return links_; }
  const Stack<Member>& members() const { return members_; }
  // Of the members on a link, after a filling.
  double highest_level(const Link& link) const;

  const Use& use(std::int32_t index) const { return uses_[static_cast<std::size_t>(index)]; }
  Link& link(std::size_t use) { return links_[static_cast<std::size_t>(uses_[use].link)]; }
  const Member& member(const Use& use) const {
    return members_[static_cast<std::size_t>(use.variable)];
  }
  std::size_t uses() const { return uses_.size(); }

 private:
  // The rest that variables without a share have of a link that several cross.
  struct Open {
    double remaining, usage;
    std::int32_t unfixed, link;
    bool outdated;  // its level is a lower bound
  };

  void open_links();
  void limit_members(const Link& link);
  void sort_by_limits();
  double lowest_level();
  bool fix_bounded(double level);
  void saturate(double lowest);
  void fix(std::size_t member, double share);
  double update(std::size_t open);
  void sum_up();
  std::size_t uses_end(std::size_t member) const {
    return member + 1 < members_.size() ? static_cast<std::size_t>(members_[member + 1].first_use)
                                        : uses_.size();
  }

  KnownLevels& known_;
  double precision_;
  Stack<Link> links_;
  Stack<Member> members_;
  Stack<Use> uses_;  // of each member in turn
  // Scratch of a filling. Levels of the members, at which their own links saturate, then of the
  // open links.
  LevelTree levels_;
  Stack<Open> open_;
  Stack<std::int32_t> by_limit_;
  Stack<std::int32_t> saturated_;  // at one level
  std::size_t next_limit_ = 0;     // in `by_limit_`: all before have a share
  std::size_t unfixed_ = 0;        // members
};

}  // namespace tisim::max_min
