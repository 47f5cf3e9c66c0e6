// The level from which shares must be recomputed: see ADR 21.
//
// Progressive filling raises the level of all variables together until something limits some of
// them. Up to the level at which a changed constraint saturated before, or saturates now, nothing
// differs from the last time: variables limited below it keep their shares, and only the others are
// gathered and filled.
//
// Invariant: below the level returned, no share of the solution changes.
#pragma once

#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

// Demand of a variable on a constraint: its weight, 1/s, and the level at which something else
// limits it.
struct Demand {
  double weight, level;
};

// Returns a level up to which a constraint has capacity for all demands, at most `most`.
double room_up_to(double capacity, const Stack<Demand>& demands, double most);

class Resumption {
 public:
  explicit Resumption(System& system) : system_(system) {}

  // Returns the level below which the dirty constraints change no share; 0 if unknown.
  double level();

  // Returns a level up to which the constraint has capacity for all its variables, at most `most`.
  double saturates_at(const Constraint& constraint, double most);

  // Marks slack constraints as not saturated; they may have been saturated before.
  void note_slack();

 private:
  System& system_;
  Stack<Demand> demands_;
};

}  // namespace tisim::max_min
