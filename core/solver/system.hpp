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
// (Casanova and Marchal 2002; Velho et al. 2013). A constraint's effect on a variable that uses it
// alone is folded into the bounds of that variable. A constraint that cannot saturate even with all
// its variables at their bounds is *slack*: it limits no variable and connects nothing.
//
// Invariants: members, counts and demands of the constraints always agree with the variables; all
// changes since the last solution are listed in `dirty` and `touched`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "solver/tolerances.hpp"
#include "support/number_index.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

// Weights are stored as numbers below this, except rare ones. Few distinct weights occur: they
// depend on how often a route crosses a link in each direction.
inline constexpr std::uint32_t kRareWeight = 7;

// The coefficient of a variable in a constraint. There may be hundreds of millions.
struct Element {
  std::uint32_t constraint : 28 = 0;
  std::uint32_t listed : 1 = false;  // whether it is among the members of the constraint
  std::uint32_t weight : 3 = 0;      // number of the weight
};

// Properties shared by variables with similar routes. If capacities change, each variable has its
// own type.
struct VariableType {
  double penalty = 1.0;       // seconds; 1 without latency
  double priority = 1.0;      // the inverse of the penalty
  double bound = -1.0;        // bytes/s of one flow; negative: none
  double joint_bound = -1.0;  // bytes/s of all flows of a variable together; negative: none
  double latency = 0.0;       // seconds, without the latency factor; not used by the solver
  std::size_t elements = 0;
  bool operator==(const VariableType&) const = default;
};

// The flows from one host to another: `count` of them, with equal shares. There may be many
// millions of variables.
struct Variable {
  // bytes/s: bound of one flow for the current `count`. While a filling stores shares in place
  // (filling.hpp): the new share, once found.
  double limit = 0.0;
  double share = 0.0;               // bytes/s of one flow
  std::int32_t count = 0;           // flows
  std::int32_t solved_count = 0;    // `count` when the share was found; known to the bottleneck
  std::int32_t elements = 0;        // index of its first element
  std::int32_t bottleneck = -1;     // bottleneck whose level it follows; -1: it has its own share
  std::uint32_t mark = 0;           // last visit, plus one once its share was fixed there
  std::uint32_t type : 31 = 0;      // type of its route
  std::uint32_t stale : 1 = false;  // whether its count has changed since its share was found
};

// Special values of the level at which a constraint saturates.
inline constexpr double kNotSaturated = std::numeric_limits<double>::infinity();
inline constexpr double kUnknownLevel = -1.0;
inline constexpr double kNeverSaturated = -2.0;  // slack: never a bottleneck

// A variable with an element in the constraint. There may be as many as elements.
struct Member {
  std::uint32_t variable : 29 = 0;
  std::uint32_t weight : 3 = 0;  // number of that element's weight
};

// A link. Shared: its capacity limits the sum of the flows. Fat pipe: it limits each flow.
struct alignas(32) Constraint {
  double demand = 0.0;    // shared: maximum use by its variables, bytes/s
  double capacity = 0.0;  // bytes/s
  // Scratch of the solver. With `updates`: the residual capacity, bytes/s. If held by a bottleneck:
  // the capacity left by other variables, bytes/s.
  double remaining = 0.0;
  std::uint32_t visit = 0;  // mark of the last component that it was part of
  // Whether its variables have changed since the last solution: a byte, changed for every link of a
  // starting or ending flow.
  bool dirty = false;
  bool fatpipe : 1 = false;
  bool changed : 1 = false;            // the share of a variable was fixed
  std::uint8_t assumed_large : 6 = 0;  // times that its component is still assumed large
  std::uint16_t updates = 0;  // updates of `remaining` since it was summed; 0: it is scratch

  // Scratch of the solver. If held by a bottleneck: sum of weight * priority of the bottleneck's
  // variables, 1/s.
  double usage = 0.0;
  double saturation_level = kNeverSaturated;  // bytes, or one of the constants above
  std::int32_t count = 0;                     // variables with flows
  std::int32_t unfixed = 0;                   // scratch: variables of the component without a share
  std::int32_t slot = -1;                     // index among the open constraints of the filling
  std::int32_t bottleneck = -1;               // bottleneck that holds its component; -1: none

  Stack<Member> members;
  // For a fat pipe: its index in `pipes_`. Otherwise: its bottleneck number; -1: none.
  std::int32_t pipe_or_bottleneck = -1;
};

static_assert(sizeof(Element) == 4 && sizeof(Member) == 4 && sizeof(Variable) == 40 &&
              sizeof(Constraint) == 96);

// Further properties of a fat pipe, accumulated since it was last idle.
struct FatPipe {
  double highest_level = 0.0;  // bytes: the largest bound / priority
  double weight_bound = 0.0;   // 1/s: the largest weight * priority
};

// A new share, or (see `ShareListener`) the previous one.
struct Share {
  std::int32_t variable;
  double value;  // bytes/s
};

class System {
 public:
  void add_constraint(double capacity, bool fatpipe);
  // Announces changes of capacities: each variable gets its own type.
  void expect_changes() { changes_ = true; }
  bool changes() const { return changes_; }

  // To add a variable, add its elements first, then its type. Elements of one constraint are
  // merged.
  void add_element(std::int32_t constraint, double weight);
  void copy_elements(std::int32_t variable);
  std::int32_t add_variable(VariableType type);

  // Adds or removes flows.
  void change_count(std::int32_t variable, std::int32_t by);
  // Recomputes the limit of a variable.
  void restore_limit(Variable& variable) const {
    const VariableType& type = type_of(variable);
    variable.limit = limit(variable.count, type, demand(variable.count, type));
  }

  // For changing capacities.
  void set_capacity(std::int32_t constraint, double capacity);
  void set_type(std::int32_t variable, VariableType type);  // requires a variable without flows
  void take_over(std::int32_t from, std::int32_t to);       // moves the type and the share
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
  // Idle: a shared constraint that limits no variable and whose residual capacity the local solver
  // tracks. It has updates.
  bool is_idle(std::int32_t index) const { return idle_[static_cast<std::size_t>(index)]; }
  void set_idle(std::int32_t index, bool idle) { idle_[static_cast<std::size_t>(index)] = idle; }
  std::int32_t index_of(const Constraint& constraint) const {
    return static_cast<std::int32_t>(&constraint - constraints_.data());
  }
  const VariableType& type_of(const Variable& variable) const { return types_[variable.type]; }
  double penalty(const Variable& variable) const { return type_of(variable).penalty; }
  double priority(const Variable& variable) const { return type_of(variable).priority; }
  // Only the system sets `listed` of elements.
  std::span<const Element> elements(const Variable& variable) const {
    return elements(variable, type_of(variable));
  }
  // The same for a known type.
  std::span<const Element> elements(const Variable& variable, const VariableType& type) const {
    return {elements_.begin() + variable.elements, type.elements};
  }
  // Prefetches the elements of a variable.
  void prefetch_elements(const Variable& variable) const {
    const Element* const first = elements_.begin() + variable.elements;
    __builtin_prefetch(first);
    __builtin_prefetch(first + 15);
  }
  // First constraint, for inner loops.
  Constraint* constraint_array() { return constraints_.data(); }
  double weight(const Element& element) const {
    if (element.weight == kRareWeight) [[unlikely]]
      return rare_weight(element);
    return weights_[element.weight];
  }
  double weight(const Constraint& constraint, Member member) const {
    if (member.weight == kRareWeight) [[unlikely]]
      return rare_weight(constraint, member);
    return weights_[member.weight];
  }

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

  // Returns true if a constraint has so many members without flows that removing them costs less
  // than visiting them again.
  static bool has_many_idle_members(const Constraint& constraint) {
    const std::size_t idle = constraint.members.size() - static_cast<std::size_t>(constraint.count);
    return idle * 16 > constraint.members.size();
  }
  // Removes members without flows from a constraint.
  void remove_idle_members(Constraint& constraint);

  // Constraints and variables changed since the last solution. The solver clears them.
  Stack<std::int32_t>& dirty() { return dirty_; }
  Stack<std::int32_t>& touched() { return touched_; }
  const Stack<std::int32_t>& dirty() const { return dirty_; }
  const Stack<std::int32_t>& touched() const { return touched_; }

  void forget_marks();

  // Throws std::logic_error that names the inconsistency.
  void verify() const;

 private:
  std::span<Element> own_elements(const Variable& variable) {
    return {elements_.begin() + variable.elements, type_of(variable).elements};
  }
  static double demand(std::int32_t count, const VariableType& type);
  static double limit(std::int32_t count, const VariableType& type, double demand);
  static double most_demand(const Constraint& constraint) {
    return constraint.capacity * (1 + tolerance::kRunningSum);
  }
  [[gnu::noinline]] bool change_pipe(const Constraint& constraint, const VariableType& type,
                                     double weight);
  void fold_constraints(VariableType& type, std::size_t first) const;
  template <bool kAnyRare>
  [[gnu::always_inline]] inline void change_demands(std::int32_t variable,
                                                    std::span<Element> elements, std::int32_t step,
                                                    double more);
  std::uint32_t weight_number(double weight);
  void set_element(std::size_t place, std::int32_t constraint, double weight);
  [[gnu::noinline]] double rare_weight(const Element& element) const;
  [[gnu::noinline]] double rare_weight(const Constraint& constraint, Member member) const;
  std::uint32_t type_number(const VariableType& type);
  void add_member(std::int32_t variable, Element& element);
  void verify_variable(std::int32_t variable, std::vector<std::size_t>& listed) const;
  void verify_constraint(std::int32_t constraint) const;

  std::vector<Constraint> constraints_;
  std::vector<bool> idle_;
  std::vector<FatPipe> pipes_;
  Stack<Variable> variables_;
  std::vector<VariableType> types_;
  NumberIndex type_index_;
  Stack<Element> elements_;                           // elements of all variables
  std::size_t pending_ = 0;                           // first element of the next variable
  std::array<double, kRareWeight + 1> weights_ = {};  // the last is unused
  std::size_t weights_known_ = 0;
  std::unordered_map<std::size_t, double> rare_weights_;  // by index of the element
  bool changes_ = false;
  Stack<std::int32_t> dirty_;
  Stack<std::int32_t> touched_;
};

}  // namespace tisim::max_min
