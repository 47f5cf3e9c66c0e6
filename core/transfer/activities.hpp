// Computations, disk accesses and transfers posted by callers, in addition to those of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "clock/clock.hpp"
#include "host/cpu.hpp"
#include "host/disks.hpp"
#include "network/network.hpp"
#include "support/pool.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

class Activities {
 public:
  Activities(Clock& clock, Cpu& cpu, Disks& disks, const PlatformData& platform, Network& network,
             Transfers& transfers)
      : clock_(clock),
        cpu_(cpu),
        disks_(disks),
        platform_(platform),
        network_(network),
        transfers_(transfers) {}

  // Return the number of a new activity, which is woken at its end.
  std::int32_t compute(std::int32_t host, double flops);
  std::int32_t access(std::int32_t disk, Access kind, double bytes);
  // Returns -1 if the route is missing.
  std::int32_t transfer(std::int32_t source, std::int32_t destination, double bytes);
  // Starts an activity that ends at a date.
  std::int32_t wait_until(double date);
  // Starts an activity that ends when the caller wakes or fails it.
  std::int32_t reserve() { return numbers_.acquire(); }
  // Ends the activity as failed.
  void fail(std::int32_t activity);
  // A host fails: fails all accesses to its disks.
  void turn_disks_off(std::int32_t host);
  // Releases the number of a woken activity. Returns true if it has failed.
  bool finish(std::int32_t activity);

  // Throws BrokenInvariant.
  void verify() const;

 private:
  Clock& clock_;
  Cpu& cpu_;
  Disks& disks_;
  const PlatformData& platform_;
  Network& network_;
  Transfers& transfers_;
  Pool<std::int32_t> numbers_;
  std::vector<bool> failed_;  // by activity; shorter if the last ones have not failed
};

}  // namespace tisim
