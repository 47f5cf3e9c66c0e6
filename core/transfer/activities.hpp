// Computations, accesses of disks and transfers that are posted from outside, beside those of
// ranks.
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

  // The number of a new activity, which is woken at its end.
  std::int32_t compute(std::int32_t host, double flops);
  std::int32_t access(std::int32_t disk, Access kind, double bytes);
  // -1: the route is missing.
  std::int32_t transfer(std::int32_t source, std::int32_t destination, double bytes);
  // It ends at a date.
  std::int32_t wait_until(double date);
  // It ends when somebody says so, by waking or failing it.
  std::int32_t reserve() { return numbers_.acquire(); }
  // The activity ends now, without success.
  void fail(std::int32_t activity);
  // A host goes off: whatever its disks do fails.
  void turn_disks_off(std::int32_t host);
  // The activity was woken: its number is free. True: it has failed.
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
  std::vector<bool> failed_;  // each activity; shorter where the last ones have not
};

}  // namespace tisim
