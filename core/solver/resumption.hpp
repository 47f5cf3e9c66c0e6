// The level from which shares must be computed again: see ADR 21.
//
// Progressive filling raises the level of all variables together until something holds back some of
// them. Up to the level at which a constraint that has changed saturated before, or saturates now,
// nothing differs from the last time: variables that were held back below it keep their shares, and
// only the others are gathered and filled up.
//
// The class promises: below the level that it returns, no share of the solution differs from the
// one before.
#pragma once

#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

// Demand of a variable on a constraint: its weight, 1/s, and the level at which something else
// holds it back.
struct Demand {
  double weight, level;
};

// A level up to which a constraint of that capacity has room for all demands, at most `most`.
double room_up_to(double capacity, const Stack<Demand>& demands, double most);

class Resumption {
 public:
  explicit Resumption(System& system) : system_(system) {}

  // The level below which no share changes by what is dirty, 0: not known.
  double level();

  // A level up to which the constraint has room for all its variables, at most `most`.
  double saturates_at(const Constraint& constraint, double most);

  // Marks slack constraints as not saturated; they may have saturated before.
  void note_slack();

 private:
  System& system_;
  Stack<Demand> demands_;
};

}  // namespace tisim::max_min
