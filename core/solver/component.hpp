// The part of the system that is solved together: variables, the constraints that connect them, and
// the shares found.
//
// Invariants: exactly the variables and constraints of the component carry its mark; the sums on
// the constraints cover the component's variables without a share.
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

  // Starts a new solution: everything counts as not visited.
  void begin_solution();
  // Permits parts already gathered to be gathered again.
  void allow_again() { first_mark_ = mark_ + 2; }
  // Starts an empty component.
  void begin();

  // Gathers the constraints and variables that a change of the constraint `seed` can affect, over
  // constraints that are not slack and variables that do not keep their shares. Variables with
  // levels below `resume_level` keep them; it is reset to 0 if that turns out to be wrong. If
  // following the members takes longer than a pass over all variables, gathers all instead. Returns
  // false, with the constraints' state restored, if more than `most` variables were visited.
  bool gather(std::int32_t seed, std::size_t most, double& resume_level, Bottlenecks& bottlenecks);

  // Number of members visited before a pass over all variables; tests use small values.
  void set_few_visits(std::size_t visits) { few_visits_ = visits; }

  // Mark of the component's constraints and of its variables without a share.
  std::uint32_t mark() const { return mark_; }
  bool was_gathered(const Constraint& constraint) const { return constraint.visit >= first_mark_; }
  bool contains(const Constraint& constraint) const { return constraint.visit == mark_; }
  bool contains(const Variable& variable) const { return variable.mark == mark_; }
  // Returns true if a variable of the component has a share.
  bool is_fixed(std::int32_t variable) const { return system_.variable(variable).mark != mark_; }
  void mark_fixed(Variable& variable) const { variable.mark = mark_ + 1; }

  // Adds a variable that is not part of it yet; or a constraint, whose sums are reset.
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
  // Lower bound of the limit levels of the variables.
  double lowest_limit() const { return lowest_limit_; }
  // Number of visited variables that keep their shares.
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
  // Mark of the component, an even number, and that of the first one of this solution.
  std::uint32_t mark_ = 0;
  std::uint32_t first_mark_ = 0;
  Stack<std::int32_t> variables_;
  Stack<std::int32_t> constraints_;
  Stack<Share> shares_;
  Stack<Known> known_;           // by constraint
  Stack<Constraint*> to_clean_;  // those with many members without flows
  double lowest_limit_ = 0.0;
  std::size_t kept_ = 0;
  std::size_t few_visits_ = 1U << 14;
};

}  // namespace tisim::max_min
