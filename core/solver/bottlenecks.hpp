// Variables that share one saturated constraint follow its level: see ADR 21.
//
// Where many variables fill one constraint and nothing else holds them back, a flow that starts or
// ends moves the shares of all of them, by one factor. Then they follow the *level* of their
// bottleneck: the share of each is that level times its priority. A flow that starts or ends costs
// its own route only, as long as it can be shown that the solution keeps its form: the level stays
// above those of all variables that something else holds back, and below those at which any other
// constraint or a limit would hold back a variable of the bottleneck.
//
// The class promises: the shares that follow from the levels are the max-min solution whenever
// `adjust` has returned; what cannot be shown to be that is dissolved and dirty.
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

  // Makes the last shares of the component those of a bottleneck; only the others are left.
  void form(const BottleneckProposal& proposal, Component& component);
  // Takes account of what has changed since the last solution where the solution keeps its form;
  // dissolves the bottlenecks of all else.
  void adjust();
  // Releases its variables, which are solved for again one by one.
  void dissolve(std::int32_t bottleneck);

  bool any() const { return in_use_ > 0; }
  // True if one was dissolved since the last `forget_dissolved`: components are solved
  // whole then.
  bool any_dissolved() const { return any_dissolved_; }
  void forget_dissolved() { any_dissolved_ = false; }

  double level(std::int32_t bottleneck) const {
    return bottlenecks_[static_cast<std::size_t>(bottleneck)].level;
  }

  // Throws std::logic_error that says what is inconsistent.
  void verify() const;

 private:
  struct Bottleneck {
    double level = 0.0;                     // bytes: the share of a variable times its penalty
    double remaining = 0.0;                 // bytes/s, what other variables leave of the constraint
    double usage = 0.0;                     // 1/s, the sum of weight * priority of its variables
    LevelRange range;                       // of levels at which the solution has the same form
    std::vector<std::int32_t> constraints;  // of its component
    std::int32_t constraint = -1;
    std::int32_t members = 0;  // variables, with flows
    std::int32_t changes = 0;  // since the sums were taken
    bool in_use = false;
    bool adjusted = false;  // since the last solution
    bool broken = false;    // the solution has taken another form
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
  bool fits(std::int32_t bottleneck, const Variable& variable);
  bool hold(std::int32_t constraint, std::int32_t bottleneck);
  void detach(std::int32_t bottleneck, std::int32_t variable);
  void verify(const Bottleneck& bottleneck, std::int32_t members) const;

  System& system_;
  ShareListener& listener_;
  std::vector<Bottleneck> bottlenecks_;
  std::vector<std::int32_t> adjusted_;
  Stack<std::int32_t> members_;  // of one that is dissolved
  std::size_t in_use_ = 0;
  bool any_dissolved_ = false;
};

}  // namespace tisim::max_min
