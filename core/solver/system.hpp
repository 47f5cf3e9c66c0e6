// The max-min system, without a solution.
//
// Variables v with multiplicity count[v] (the flows from one host to another) share constraints c
// (links). With the coefficients weight[c, v], the solver finds the shares that maximise
// lexicographically the sorted vector of *levels*  share[v] * penalty[v]  subject to
//
//   sum over v of weight[c, v] * count[v] * share[v] <= capacity[c]   if c is shared,
//   max over v of weight[c, v] * share[v]            <= capacity[c]   if c is a fat pipe,
//   share[v] <= bound[v]   and   count[v] * share[v] <= joint_bound[v]
//
// (Casanova and Marchal 2002; Velho et al. 2013). What a constraint does to a variable that is
// alone on it is folded into the bounds of that variable. A constraint that cannot saturate even
// with all its variables at their bounds is *slack*: it holds nobody back and connects nothing.
//
// The class promises: members, counts and demands of the constraints agree with the variables at
// any time; all that has changed since the last solution is listed in `dirty` and `touched`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solver/tolerances.hpp"
#include "solver/variables.hpp"
#include "support/number_index.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

class System {
 public:
  void add_constraint(double capacity, bool fatpipe);
  // Capacities will change: from now on each variable has a type of its own.
  void expect_changes() { changes_ = true; }
  bool changes() const { return changes_; }

  // A new variable: first its elements, then its type. Elements of one constraint are merged.
  void add_element(std::int32_t constraint, double weight);
  void copy_elements(std::int32_t variable);
  std::int32_t add_variable(VariableType type);

  // So many flows more, or fewer.
  void change_count(std::int32_t variable, std::int32_t by);

  // Where capacities change.
  void set_capacity(std::int32_t constraint, double capacity);
  void set_type(std::int32_t variable, VariableType type);  // of a variable without flows
  void take_over(std::int32_t from, std::int32_t to);       // the type and the share
  void mark_dirty(std::int32_t constraint) {
    if (this->constraint(constraint).dirty) return;
    this->constraint(constraint).dirty = true;
    dirty_.push_back(constraint);
  }
  void touch(std::int32_t variable) {
    if (this->variable(variable).stale) return;
    this->variable(variable).stale = true;
    touched_.push_back(variable);
  }

  std::size_t variables() const { return variables_.size(); }
  std::size_t constraints() const { return constraints_.size(); }
  Variable& variable(std::int32_t index) { return variables_[static_cast<std::size_t>(index)]; }
  const Variable& variable(std::int32_t index) const {
    return variables_[static_cast<std::size_t>(index)];
  }
  Constraint& constraint(std::int32_t index) {
    return constraints_[static_cast<std::size_t>(index)];
  }
  const Constraint& constraint(std::int32_t index) const {
    return constraints_[static_cast<std::size_t>(index)];
  }
  std::int32_t index_of(const Constraint& constraint) const {
    return static_cast<std::int32_t>(&constraint - constraints_.data());
  }
  const VariableType& type_of(const Variable& variable) const { return types_[variable.type]; }
  double penalty(const Variable& variable) const { return type_of(variable).penalty; }
  double priority(const Variable& variable) const { return type_of(variable).priority; }
  // Elements are listed by the system alone.
  std::span<const Element> elements(const Variable& variable) const {
    return elements(variable, type_of(variable));
  }
  // The same, when the type is known already.
  std::span<const Element> elements(const Variable& variable, const VariableType& type) const {
    return {elements_.begin() + variable.elements, type.elements};
  }
  // For inner loops: the first constraint, and the first weight that elements have a number of.
  Constraint* constraint_array() { return constraints_.data(); }
  const double* weight_array() const { return weights_.data(); }
  double weight(const Element& element) const { return weights_[element.weight]; }
  double weight(const Member& member) const { return weights_[member.weight]; }

  bool slack(const Constraint& constraint) const {
    // Shared: all variables at their limits do not fill it. Fat pipe: every flow reaches its bound
    // before the flow of the largest weight fills the pipe.
    const double most = most_demand(constraint);
    if (constraint.fatpipe) [[unlikely]] {
      const FatPipe& pipe = pipes_[static_cast<std::size_t>(constraint.pipe_or_bottleneck)];
      return pipe.highest_level * pipe.weight_bound <= most;
    }
    return constraint.demand <= most;
  }

  // Takes variables without flows off the members of a constraint.
  void remove_idle_members(Constraint& constraint);

  // Constraints, and variables, that have changed since the last solution. The solver clears them.
  Stack<std::int32_t>& dirty() { return dirty_; }
  Stack<std::int32_t>& touched() { return touched_; }
  const Stack<std::int32_t>& dirty() const { return dirty_; }
  const Stack<std::int32_t>& touched() const { return touched_; }

  void forget_marks();

  // Throws std::logic_error that says what is inconsistent.
  void verify() const;

 private:
  std::span<Element> own_elements(const Variable& variable) {
    return {elements_.begin() + variable.elements, type_of(variable).elements};
  }
  static double demand(std::int32_t count, const VariableType& type);
  static double most_demand(const Constraint& constraint) {
    return constraint.capacity * (1 + tolerance::kRunningSum);
  }
  [[gnu::noinline]] bool change_pipe(const Constraint& constraint, const VariableType& type,
                                     double weight);
  void fold_constraints(VariableType& type, std::size_t first) const;
  std::uint16_t weight_number(double weight);
  std::uint32_t type_number(const VariableType& type);
  void enlist(std::int32_t variable, Element& element, std::size_t place);
  void verify_variable(std::int32_t variable, std::vector<std::size_t>& listed) const;
  void verify_constraint(std::int32_t constraint) const;

  std::vector<Constraint> constraints_;
  std::vector<FatPipe> pipes_;
  Stack<Variable> variables_;
  std::vector<VariableType> types_;
  NumberIndex type_index_;
  Stack<Element> elements_;  // of all variables
  std::size_t pending_ = 0;  // the first element of the next variable
  std::vector<double> weights_;
  bool changes_ = false;
  Stack<std::int32_t> dirty_;
  Stack<std::int32_t> touched_;
};

}  // namespace tisim::max_min
