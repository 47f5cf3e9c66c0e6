#include "solver/system.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "support/invariant.hpp"

namespace tisim::max_min {

namespace {

std::uint64_t hash_of_type(const VariableType& type) {
  std::uint64_t hash = type.elements;
  for (const double part : {type.penalty, type.bound, type.joint_bound, type.latency}) {
    hash = hash_of(hash ^ std::bit_cast<std::uint64_t>(part));
  }
  return hash;
}

void check_room(bool fits, const char* what) {
  if (!fits) throw std::length_error(what);
}

// Checks a property of one constraint or variable.
void ensure_of(bool holds, const char* kind, std::int32_t index, const char* what) {
  if (!holds) throw BrokenInvariant(kind + std::to_string(index) + ": " + what);
}

}  // namespace

void System::add_constraint(double capacity, bool fatpipe) {
  check_room(constraints_.size() < std::size_t{1} << 28, "more than 2^28 links");
  Constraint& made = constraints_.emplace_back();
  idle_.push_back(false);
  made.capacity = capacity;
  if (!fatpipe) return;
  made.fatpipe = true;
  made.pipe_or_bottleneck = static_cast<std::int32_t>(pipes_.size());
  pipes_.emplace_back();
}

void System::add_element(std::int32_t constraint, double more) {
  for (std::size_t i = pending_; i < elements_.size(); ++i) {
    if (elements_[i].constraint == constraint) {
      const double had = weight(elements_[i]);
      const bool fatpipe = this->constraint(constraint).fatpipe;
      set_element(i, constraint, fatpipe ? std::max(had, more) : had + more);
      return;
    }
  }
  elements_.push_back({});
  set_element(elements_.size() - 1, constraint, more);
}

void System::set_element(std::size_t place, std::int32_t constraint, double weight) {
  Element& element = elements_[place];
  element.constraint = static_cast<std::uint32_t>(constraint) & 0xfffffffU;  // in range: checked
  element.weight = weight_number(weight) & kRareWeight;
  if (element.weight == kRareWeight) {
    rare_weights_[place] = weight;
  } else if (!rare_weights_.empty()) {
    rare_weights_.erase(place);
  }
}

// Adds the elements of another variable with the same route to the next variable.
void System::copy_elements(std::int32_t variable) {
  const auto from = static_cast<std::size_t>(this->variable(variable).elements);
  const std::size_t count = elements(this->variable(variable)).size();
  for (std::size_t i = from; i < from + count; ++i) {
    elements_.push_back({});
    set_element(elements_.size() - 1, elements_[i].constraint, weight(elements_[i]));
  }
}

// The first distinct weights get numbers.
std::uint32_t System::weight_number(double weight) {
  const auto end = weights_.begin() + static_cast<std::ptrdiff_t>(weights_known_);
  const auto found = std::find(weights_.begin(), end, weight);
  if (found == end && weights_known_ < kRareWeight) weights_[weights_known_++] = weight;
  return static_cast<std::uint32_t>(std::distance(weights_.begin(), found));
}

double System::rare_weight(const Element& element) const {
  return rare_weights_.at(static_cast<std::size_t>(&element - elements_.begin()));
}

double System::rare_weight(const Constraint& constraint, Member member) const {
  const std::int32_t index = index_of(constraint);
  const Element* element = elements_.begin() + variable(member.variable).elements;
  while (element->constraint != index) ++element;
  return weight(*element);
}

// Folds the effect of each constraint on a lone variable into its bounds. A flow with no bound of
// its own, or one above what a fat pipe leaves it, does not reach a bound before the pipe saturates
// and limits all its flows (ADR 3). This applies to pipes of the reverse route too.
void System::fold_constraints(VariableType& type, std::size_t first) const {
  constexpr double kAbove = 1 + tolerance::kAboveSaturation;
  const double own = type.bound;
  type.joint_bound = -1.0;
  for (std::size_t i = first; i < first + type.elements; ++i) {
    const Constraint& constraint = this->constraint(elements_[i].constraint);
    const double alone = constraint.capacity / weight(elements_[i]);
    const bool saturates_first = constraint.fatpipe && (own < 0 || alone < own);
    const double most = saturates_first ? alone * kAbove : alone;
    double& limited = constraint.fatpipe ? type.bound : type.joint_bound;
    if (limited < 0 || most < limited) limited = most;
  }
  // A shared link with the pipe's capacity saturates together with the pipe, not before it.
  const bool together = type.joint_bound <= type.bound && type.bound <= type.joint_bound * kAbove;
  if (together && type.bound != own) type.joint_bound = type.bound;
}

std::uint32_t System::type_number(const VariableType& type) {
  const auto made = static_cast<std::int32_t>(types_.size());
  if (!changes_) {
    const std::int32_t found = type_index_.find(hash_of_type(type), [&](std::int32_t number) {
      return types_[static_cast<std::size_t>(number)] == type;
    });
    if (found >= 0) return static_cast<std::uint32_t>(found);
  }
  types_.push_back(type);
  if (!changes_) {
    type_index_.insert(made, [this](std::int32_t number) {
      return hash_of_type(types_[static_cast<std::size_t>(number)]);
    });
  }
  return static_cast<std::uint32_t>(made);
}

std::int32_t System::add_variable(VariableType type) {
  constexpr std::size_t kMaxCount = std::numeric_limits<std::int32_t>::max();
  type.elements = elements_.size() - pending_;
  check_room(elements_.size() <= kMaxCount, "all routes together have more than 2^31 links");
  check_room(types_.size() < kMaxCount, "more than 2^31 kinds of routes");
  check_room(variables_.size() < std::size_t{1} << 29, "more than 2^29 pairs of hosts");
  fold_constraints(type, pending_);
  Variable variable;
  variable.elements = static_cast<std::int32_t>(pending_);
  variable.type = type_number(type) & 0x7fffffffU;  // in range: checked above
  variables_.push_back(variable);
  pending_ = elements_.size();
  return static_cast<std::int32_t>(variables_.size()) - 1;
}

// Maximum rate of `count` flows of a type together, bytes/s.
double System::demand(std::int32_t count, const VariableType& type) {
  const double most = count * type.bound;
  const bool jointly =
      count > 0 && type.joint_bound >= 0 && (type.bound < 0 || most > type.joint_bound);
  return jointly ? type.joint_bound : most;
}

// Rate bound of each of `count` flows with a given total demand.
double System::limit(std::int32_t count, const VariableType& type, double demand) {
  if (count * type.bound == demand) return type.bound;
  return count > 1 ? demand / count : demand;
}

// Updates a variable's links: `step` more variables with flows, and `more` demand per unit weight.
template <bool kAnyRare>
void System::change_demands(std::int32_t index, std::span<Element> elements, std::int32_t step,
                            double more) {
  Constraint* const constraints = constraints_.data();
  dirty_.make_room(elements.size());
  // Branch-free: whether a link becomes idle, or matters, is unpredictable.
  for (Element& element : elements) {
    const Element known = element;  // read once
    Constraint& constraint = constraints[known.constraint];
    constraint.count += step;
    bool matters;
    if (constraint.fatpipe) [[unlikely]] {
      matters = change_pipe(constraint, type_of(variable(index)), weight(element));
    } else {
      const double most = most_demand(constraint);
      const double before_change = constraint.demand;
      const double is_used = std::min(constraint.count, 1);
      constraint.demand =
          (before_change + (kAnyRare ? weight(element) : weights_[known.weight]) * more) * is_used;
      matters = !((before_change <= most) & (constraint.demand <= most));
    }
    if (!known.listed) add_member(index, element);
    dirty_.append_if(matters & !constraint.dirty, known.constraint);
    constraint.dirty |= matters;
  }
}

void System::change_count(std::int32_t index, std::int32_t by) {
  Variable& variable = this->variable(index);
  const VariableType& type = type_of(variable);
  const bool appears = variable.count == 0;
  const double before = demand(variable.count, type);
  variable.count += by;
  const bool vanishes = variable.count == 0;
  if (!variable.stale) {
    variable.stale = true;
    touched_.push_back(index);
  }
  const double after = demand(variable.count, type);
  const double more = after - before;
  variable.limit = limit(variable.count, type, after);
  const std::int32_t step =
      static_cast<std::int32_t>(appears) - static_cast<std::int32_t>(vanishes);
  const std::span<Element> elements = own_elements(variable);
  if (rare_weights_.empty()) [[likely]] {
    change_demands<false>(index, elements, step, more);
  } else {
    change_demands<true>(index, elements, step, more);
  }
}

// Updates a fat pipe for a variable that gains or loses its flows. Returns whether that matters.
bool System::change_pipe(const Constraint& constraint, const VariableType& type, double weight) {
  const bool was_slack = slack(constraint);
  FatPipe& pipe = pipes_[static_cast<std::size_t>(constraint.pipe_or_bottleneck)];
  const bool idle = constraint.count == 0;
  pipe.highest_level = idle ? 0.0 : std::max(pipe.highest_level, type.bound / type.priority);
  pipe.weight_bound = idle ? 0.0 : std::max(pipe.weight_bound, weight * type.priority);
  return !(was_slack && slack(constraint));
}

// Makes a variable a member of a constraint.
void System::add_member(std::int32_t variable, Element& element) {
  element.listed = true;
  Member member;
  member.variable = static_cast<std::uint32_t>(variable) & 0x1fffffffU;  // in range: checked
  member.weight = element.weight;
  constraint(element.constraint).members.push_back(member);
}

void System::remove_idle_members(Constraint& constraint) {
  const std::int32_t index = index_of(constraint);
  for (std::size_t m = 0; m < constraint.members.size();) {
    const Member member = constraint.members[m];
    const Variable& variable = this->variable(member.variable);
    if (variable.count > 0) {
      ++m;
      continue;
    }
    Element* element = elements_.begin() + variable.elements;
    while (element->constraint != index) ++element;
    element->listed = false;
    constraint.members[m] = constraint.members.back();
    constraint.members.pop_back();
  }
}

void System::set_capacity(std::int32_t index, double capacity) {
  constraint(index).capacity = capacity;
}

void System::set_type(std::int32_t index, VariableType type) {
  const Variable& variable = this->variable(index);
  fold_constraints(type, static_cast<std::size_t>(variable.elements));
  types_[variable.type] = type;
}

void System::take_over(std::int32_t from, std::int32_t to) {
  types_[variable(to).type] = type_of(variable(from));
  variable(to).share = variable(from).share;
}

void System::forget_marks() {
  for (Constraint& constraint : constraints_) constraint.visit = 0;
  for (Variable& variable : variables_) variable.mark = 0;
}

void System::verify() const {
  ensure(pending_ == elements_.size(), "all elements belong to a variable");
  std::vector<std::size_t> listed(constraints_.size());
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    verify_variable(static_cast<std::int32_t>(i), listed);
  }
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    ensure_of(constraints_[i].members.size() == listed[i], "constraint ", index,
              "its members are the variables with a listed element of it");
    verify_constraint(index);
  }
  for (const std::int32_t index : dirty_) {
    ensure_of(index >= 0 && static_cast<std::size_t>(index) < constraints_.size(), "constraint ",
              index, "dirty constraints exist");
  }
}

void System::verify_variable(std::int32_t index, std::vector<std::size_t>& listed) const {
  const Variable& variable = this->variable(index);
  ensure_of(variable.type < types_.size(), "variable ", index, "its type exists");
  const VariableType& type = type_of(variable);
  const std::size_t end = static_cast<std::size_t>(variable.elements) + type.elements;
  ensure_of(variable.elements >= 0 && end <= elements_.size(), "variable ", index,
            "its elements exist");
  ensure_of(variable.count >= 0, "variable ", index, "its number of flows is not negative");
  ensure_of(type.penalty > 0 && type.priority == 1.0 / type.penalty, "variable ", index,
            "its priority is the inverse of its penalty");
  for (const Element& element : elements(variable)) {
    const bool is_rare = element.weight == kRareWeight;
    const auto place = static_cast<std::size_t>(&element - elements_.begin());
    ensure_of(is_rare ? rare_weights_.contains(place) : element.weight < weights_known_,
              "variable ", index, "its weights exist");
    ensure_of(element.listed || variable.count == 0, "variable ", index,
              "with flows it is a member of all its constraints");
    if (element.listed) ++listed[static_cast<std::size_t>(element.constraint)];
  }
  if (variable.count == 0) return;
  const double limit = demand(variable.count, type) / variable.count;
  ensure_of(std::abs(variable.limit - limit) <= tolerance::kRunningSum * std::abs(limit),
            "variable ", index, "its limit is that of its type and count");
}

void System::verify_constraint(std::int32_t index) const {
  const Constraint& constraint = this->constraint(index);
  std::int32_t count = 0;
  double most = 0.0;
  for (const Member& member : constraint.members) {
    const Variable& variable = this->variable(member.variable);
    const std::span<const Element> way = elements(variable);
    ensure_of(std::any_of(way.begin(), way.end(),
                          [&](const Element& element) {
                            return element.constraint == index && element.weight == member.weight &&
                                   element.listed;
                          }),
              "constraint ", index, "each member has a listed element of it");
    if (variable.count == 0) continue;
    ++count;
    most += weight(constraint, member) * demand(variable.count, type_of(variable));
    if (!constraint.fatpipe) continue;
    const FatPipe& pipe = pipes_[static_cast<std::size_t>(constraint.pipe_or_bottleneck)];
    const VariableType& type = type_of(variable);
    ensure_of(pipe.highest_level >= type.bound / type.priority &&
                  pipe.weight_bound >= weight(constraint, member) * type.priority,
              "constraint ", index, "no flow exceeds the bounds of the fat pipe");
  }
  ensure_of(constraint.count == count, "constraint ", index,
            "its count is the number of its members with flows");
  if (constraint.fatpipe) return;
  // A running sum is off by the rounding errors of larger sums.
  const double off = std::abs(constraint.demand - most);
  ensure_of(off <= tolerance::kVerified * (most + constraint.capacity) || std::isinf(most),
            "constraint ", index, "its demand is that of its members");
}

}  // namespace tisim::max_min
