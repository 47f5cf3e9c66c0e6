// The records of which the max-min system consists: variables, constraints and their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "support/stack.hpp"

namespace tisim::max_min {

// The coefficient of a variable in a constraint.
struct Element {
  std::int32_t constraint;
  std::uint16_t weight;  // number in the system's list of weights
  bool listed = false;   // among the members of the constraint
};

// What variables of like routes have in common. Where capacities change, each variable has a type
// of its own.
struct VariableType {
  double penalty = 1.0;       // seconds; 1 where there is no latency
  double priority = 1.0;      // the inverse of the penalty
  double bound = -1.0;        // bytes/s of one flow, negative: none
  double joint_bound = -1.0;  // bytes/s of all flows of a variable together, negative: none
  double latency = 0.0;       // seconds, without factor; the solver does not read it
  std::size_t elements = 0;
  bool operator==(const VariableType&) const = default;
};

// The flows from one host to another: `count` of them, each with the same share. There may be
// many millions of variables.
struct Variable {
  double limit = 0.0;               // bytes/s: the bound of one flow when there are `count`
  double share = 0.0;               // bytes/s of one flow
  std::int32_t count = 0;           // flows
  std::int32_t solved_count = 0;    // flows when the share was found; known to the bottleneck
  std::int32_t elements = 0;        // the first of its elements
  std::int32_t bottleneck = -1;     // whose level it follows, -1: it has a share of its own
  std::uint32_t mark = 0;           // of the last visit, one more when its share was fixed there
  std::uint32_t type : 31 = 0;      // of its route
  std::uint32_t stale : 1 = false;  // its count has changed since its share was found
};

// In place of the level at which a constraint saturates.
inline constexpr double kNotSaturated = std::numeric_limits<double>::infinity();
inline constexpr double kUnknownLevel = -1.0;
inline constexpr double kNeverSaturated = -2.0;  // slack: never a bottleneck

// A variable with an element in the constraint.
struct Member {
  std::int32_t variable;
  std::uint16_t place;   // among the elements of the variable
  std::uint16_t weight;  // as of that element
};

// A link. Shared: the sum of what flows use is at most its capacity. Fat pipe: each is.
struct alignas(32) Constraint {
  double demand = 0.0;      // shared: what its variables can use at most, bytes/s
  double capacity = 0.0;    // bytes/s
  std::int32_t count = 0;   // variables with flows
  std::uint32_t visit = 0;  // the mark of the last component that it was part of
  // Scratch of the solver.
  std::int32_t unfixed = 0;  // variables of the component that have no share yet
  bool fatpipe = false;
  bool dirty = false;              // its variables have changed since the last solution
  bool changed = false;            // the share of a variable was fixed
  std::uint8_t assumed_large = 0;  // times more that its component is taken for a large one

  // Scratch of the solver; where a bottleneck holds it: what other variables leave of it, bytes/s,
  // and the sum of weight * priority of the variables of the bottleneck, 1/s.
  double remaining = 0.0, usage = 0.0;
  double saturation_level = kNeverSaturated;  // bytes, or one of the constants above
  std::int32_t slot = -1;                     // among the open constraints of the filling
  std::int32_t bottleneck = -1;               // that holds its component, -1: none

  Stack<Member> members;
  // Of a fat pipe: its number among them. Of another: the bottleneck that it was last, -1: none.
  std::int32_t pipe_or_bottleneck = -1;
};

static_assert(sizeof(Element) == 8 && sizeof(Member) == 8 && sizeof(Variable) == 40 &&
              sizeof(Constraint) == 96);

// What is known of a fat pipe besides, since it was idle.
struct FatPipe {
  double highest_level = 0.0;  // bytes: the largest bound / priority
  double weight_bound = 0.0;   // 1/s: the largest weight * priority
};

// A share that has been found, or (see `ShareListener`) the one before.
struct Share {
  std::int32_t variable;
  double value;  // bytes/s
};

}  // namespace tisim::max_min
