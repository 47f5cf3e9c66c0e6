// Applies what changes while a simulation runs: the profiles of hosts and links, and ranks that are
// killed at a date.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "host/cpu.hpp"
#include "network/network.hpp"
#include "platform/profiles.hpp"
#include "platform/routes.hpp"
#include "simulation/failures.hpp"

namespace tisim {

class PlatformChanges {
 public:
  PlatformChanges(const PlatformData& platform, Clock& clock, Cpu& cpu, Network& network,
                  Transfers& transfers, Failures& failures);
  PlatformChanges(const PlatformChanges&) = delete;
  PlatformChanges& operator=(const PlatformChanges&) = delete;

  // The rank dies at a date, if it has not finished before.
  void kill_at(std::int32_t rank, double date);
  // When something happens that moves the clock: at `date`, or earlier, when something changes.
  // Changes alone do not keep a simulation going that runs for ever (`until`), but those that help
  // somebody who waits without any speed or bandwidth do.
  double bring_forward(double date, double until) const {
    return changes_ ? date_before(date, until) : date;
  }
  // Does what is due.
  void apply() {
    if (next_ <= clock_.now()) apply_due();
  }

  // Throws BrokenInvariant.
  void verify() const;

 private:
  double date_before(double date, double until) const;
  void apply_due();
  void expect_failures();

  const PlatformData& platform_;
  Clock& clock_;
  Cpu& cpu_;
  Network& network_;
  Transfers& transfers_;
  Failures& failures_;
  std::unique_ptr<Changes> changes_;  // null: nothing ever changes
  double next_ = std::numeric_limits<double>::infinity();
};

}  // namespace tisim
