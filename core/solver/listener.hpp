// Interface of the class whose flows progress at the solver's shares.
#pragma once

#include <cstdint>
#include <span>

#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

// The solver reports every change of a share, in order. The shares of the variables of a
// *bottleneck* are its level times their priorities: only changes of the level are reported.
class ShareListener {
 public:
  virtual ~ShareListener() = default;

  // Variables outside bottlenecks have new shares or counts. The system has the new share; each
  // item has the previous one.
  virtual void set_shares(std::span<const Share> before) = 0;

  // A bottleneck is formed, with its first variables (and their previous shares) and its level.
  virtual void form(std::int32_t bottleneck, std::span<const Share> before, double level) = 0;
  virtual void set_level(std::int32_t bottleneck, double level) = 0;
  // A variable without flows joins.
  virtual void join(std::int32_t bottleneck, std::int32_t variable) = 0;
  // The number of flows of a member has changed but is not zero.
  virtual void update_member(std::int32_t bottleneck, std::int32_t variable) = 0;
  // A member has no flows left.
  virtual void remove_member(std::int32_t bottleneck, std::int32_t variable) = 0;
  // The bottleneck is dissolved. Appends its members with flows; `leave` is then called for each of
  // them, and for others that belong to it.
  virtual void dissolve(std::int32_t bottleneck, Stack<std::int32_t>& members) = 0;
  virtual void leave(std::int32_t bottleneck, std::int32_t variable) = 0;
};

}  // namespace tisim::max_min
