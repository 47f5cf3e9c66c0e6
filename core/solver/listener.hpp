// Interface of the class whose flows progress at the shares of the solver.
#pragma once

#include <cstdint>
#include <span>

#include "solver/system.hpp"
#include "support/stack.hpp"

namespace tisim::max_min {

// The solver reports every change of a share, in the order of the changes. The shares of
// the variables of a *bottleneck* are its level times their priorities: of those only the changes
// of the level are told.
class ShareListener {
 public:
  virtual ~ShareListener() = default;

  // Variables that are in no bottleneck have new shares or counts. The new share is in the system;
  // each item has the one before.
  virtual void set_shares(std::span<const Share> before) = 0;

  // A bottleneck, its first variables (with their shares before) and its level.
  virtual void form(std::int32_t bottleneck, std::span<const Share> before, double level) = 0;
  virtual void set_level(std::int32_t bottleneck, double level) = 0;
  // A variable that had no flows joins.
  virtual void join(std::int32_t bottleneck, std::int32_t variable) = 0;
  // Flows of a member have started or ended; some are left.
  virtual void recount(std::int32_t bottleneck, std::int32_t variable) = 0;
  // A member has no flows any more.
  virtual void remove_member(std::int32_t bottleneck, std::int32_t variable) = 0;
  // The bottleneck is no more. Appends its members with flows; of each, and of others that belong
  // to it, `leave` is told next.
  virtual void dissolve(std::int32_t bottleneck, Stack<std::int32_t>& members) = 0;
  virtual void leave(std::int32_t bottleneck, std::int32_t variable) = 0;
};

}  // namespace tisim::max_min
