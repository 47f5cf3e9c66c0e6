// Variables that share one saturated constraint follow its level: see ADR 21.
//
// If many variables saturate one constraint and nothing else constrains them, a flow that starts or
// ends scales the shares of all of them by one factor. So they follow the *level* of their
// bottleneck: the share of each is that level times its priority. Starting or ending a flow then
// costs only its own route, as long as the solution provably keeps its form: the level stays above
// those of all variables constrained elsewhere, and below those at which another constraint or a
// limit would constrain a variable of the bottleneck.
//
// Invariant: after `adjust`, the shares given by the levels are the max-min solution; bottlenecks
// for which this cannot be proved are dissolved and dirty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/component.hpp"
#include "solver/filling.hpp"
#include "solver/listener.hpp"
#include "solver/system.hpp"

namespace tisim::max_min {

class Bottlenecks {
 public:
  Bottlenecks(System& system, ShareListener& listener) : system_(system), listener_(listener) {}

  // Makes the last shares of the component those of a bottleneck; only the other shares remain.
  void form(const BottleneckProposal& proposal, Component& component);
  // Updates the bottlenecks for all changes since the last solution, and dissolves those whose
  // solution changes its form.
  void adjust();
  // Releases its variables, which are then solved individually.
  void dissolve(std::int32_t bottleneck);

  bool any() const { return in_use_ > 0; }
  // Returns true if one was dissolved since the last `forget_dissolved`: components are then solved
  // whole.
  bool any_dissolved() const { return any_dissolved_; }
  void forget_dissolved() { any_dissolved_ = false; }

  double level(std::int32_t bottleneck) const {
    return bottlenecks_[static_cast<std::size_t>(bottleneck)].level;
  }

  // Throws std::logic_error that names the inconsistency.
  void verify() const;

 private:
  struct Bottleneck {
    double level = 0.0;                     // bytes: share times penalty of its variables
    double remaining = 0.0;                 // bytes/s, capacity left by other variables
    double usage = 0.0;                     // 1/s, sum of weight * priority of its variables
    LevelRange range;                       // levels at which the solution keeps its form
    std::vector<std::int32_t> constraints;  // constraints of its component
    std::int32_t constraint = -1;
    std::int32_t members = 0;  // variables with flows
    std::int32_t changes = 0;  // number of changes since the sums were computed
    bool in_use = false;
    bool adjusted = false;  // whether it changed since the last solution
    bool broken = false;    // the solution has changed its form
  };

  Bottleneck& at(std::int32_t index) { return bottlenecks_[static_cast<std::size_t>(index)]; }
  std::int32_t number_of(std::int32_t constraint);
  void add_member(std::int32_t bottleneck, Variable& variable);
  void adjust_to(std::int32_t variable);
  std::int32_t holder_of(const Variable& variable, double& weight);
  void add_to_sums(std::int32_t bottleneck, const Variable& variable, double weight,
                   std::int32_t more);
  void change_members(std::int32_t bottleneck, std::int32_t variable, double weight);
  Bottleneck& note_adjusted(std::int32_t bottleneck);
  bool lower_highest_level(std::int32_t bottleneck, const Variable& variable);
  bool adopt_constraint(std::int32_t constraint, std::int32_t bottleneck);
  void detach(std::int32_t bottleneck, std::int32_t variable);
  void verify(const Bottleneck& bottleneck, std::int32_t members) const;

  System& system_;
  ShareListener& listener_;
  std::vector<Bottleneck> bottlenecks_;
  std::vector<std::int32_t> adjusted_;
  Stack<std::int32_t> members_;  // members of the bottleneck being dissolved
  std::size_t in_use_ = 0;
  bool any_dissolved_ = false;
};

}  // namespace tisim::max_min
