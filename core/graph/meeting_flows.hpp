// The data transfers of meetings, as flows on links that they share max-min fairly.
//
// The channels of a meeting move in lockstep: a meeting is one flow, whose share is the rate of one
// channel in bytes/s and whose weight on a link is the number of its channels there. So all
// channels on a link get the same rate unless another constraint limits them.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/program.hpp"
#include "network/flows.hpp"
#include "solver/max_min_solver.hpp"
#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim {

class MeetingFlows {
 public:
  // Keeps a reference to `programs`.
  explicit MeetingFlows(const GraphPrograms& programs);
  MeetingFlows(const MeetingFlows&) = delete;
  MeetingFlows& operator=(const MeetingFlows&) = delete;

  void start(std::int32_t meeting, std::int32_t call, double now);

  // Recomputes the shares after all changes of an instant.
  void solve(double now) {
    flows_.set_now(now);
    solver_.solve();
  }
  bool is_solved() const { return solver_.is_solved(); }

  bool idle() const { return flows_.in_progress() == 0; }
  // Requires that all is solved.
  double next_end() { return flows_.next_end(); }
  // Returns the meetings that end at `now`, in starting order; invalidated by the next call.
  const Stack<std::int32_t>& ended(double now) {
    ended_.clear();
    flows_.collect_ended(now, ended_);
    return ended_;
  }

  // Throws BrokenInvariant; requires that all is solved.
  void verify(double now) const;

 private:
  std::int32_t variable(std::int32_t call);

  const GraphPrograms& programs_;
  max_min::System system_;
  Flows flows_;
  MaxMinSolver solver_;
  std::vector<std::int32_t> variables_;  // by call; negative if not created yet
  Stack<std::int32_t> ended_;
};

}  // namespace tisim
