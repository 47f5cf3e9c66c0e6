// A part of the system that is solved at once: variables, the constraints that connect them, and
// the shares that have been found.
//
// The class promises: every variable and constraint of the component carries its mark, nothing else
// does; sums on the constraints are those of the component's variables that have no share yet.
#pragma once

#include <cstddef>
#include <cstdint>

#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

class Bottlenecks;

class Component {
 public:
  explicit Component(System& system) : system_(system) {}

  // A new solution begins: what was visited before it counts as not visited.
  void begin_solution();
  // Parts that have been gathered may be gathered again.
  void allow_again() { first_mark_ = mark_ + 2; }
  // An empty component.
  void begin();

  // The constraints and variables that a change of the constraint `seed` can reach, over
  // constraints that are not slack, and variables that do not keep their shares: those at levels
  // below `resume_level`, which becomes 0 when that turns out to be wrong. Where going from one to
  // the next takes longer than passing over all variables, these are what is gathered. False: more
  // than `most` variables were met; what was known of the constraints still is.
  bool gather(std::int32_t seed, std::size_t most, double& resume_level, Bottlenecks& bottlenecks);

  // For tests, which have small components: how many members of constraints are visited before all
  // variables are passed over.
  void set_few_visits(std::size_t visits) { few_visits_ = visits; }

  // The mark of the constraints of the component and of its variables without a share.
  std::uint32_t mark() const { return mark_; }
  bool was_gathered(const Constraint& constraint) const { return constraint.visit >= first_mark_; }
  bool contains(const Constraint& constraint) const { return constraint.visit == mark_; }
  bool contains(const Variable& variable) const { return variable.mark == mark_; }
  // True if a variable of the component has a share.
  bool is_fixed(std::int32_t variable) const { return system_.variable(variable).mark != mark_; }
  void mark_fixed(Variable& variable) const { variable.mark = mark_ + 1; }

  // Add a variable that is not part of it yet; a constraint, whose sums are zero afterwards.
  void add_variable(std::int32_t index) {
    system_.variable(index).mark = mark_;
    variables_.push_back(index);
  }
  void add_constraint(std::int32_t index) {
    system_.constraint(index).visit = mark_;
    constraints_.push_back(index);
  }
  static void clear_sums(Constraint& constraint);

  const Stack<std::int32_t>& variables() const { return variables_; }
  const Stack<std::int32_t>& constraints() const { return constraints_; }
  Stack<Share>& shares() { return shares_; }
  const Stack<Share>& shares() const { return shares_; }
  // No variable has its limit at a lower level.
  double lowest_limit() const { return lowest_limit_; }
  // Number of variables met that keep their shares.
  std::size_t kept() const { return kept_; }

 private:
  // State of a constraint before it was reached.
  struct Known {
    double saturation_level, remaining;
    std::uint16_t updates;
  };

  void reach(std::int32_t constraint);
  void put_back(std::size_t place);
  void put_back_all();
  void leave_out_kept();
  void gather_all(double resume_level);
  bool gather_members(Constraint& constraint, double& resume_level, Bottlenecks& bottlenecks);

  System& system_;
  // The mark of the component, an even number, and that of the first one of this solution.
  std::uint32_t mark_ = 0;
  std::uint32_t first_mark_ = 0;
  Stack<std::int32_t> variables_;
  Stack<std::int32_t> constraints_;
  Stack<Share> shares_;
  Stack<Known> known_;           // of each constraint
  Stack<Constraint*> to_clean_;  // those with members that have no flows any more
  double lowest_limit_ = 0.0;
  std::size_t kept_ = 0;
  std::size_t few_visits_ = 1U << 14;
};

}  // namespace tisim::max_min
