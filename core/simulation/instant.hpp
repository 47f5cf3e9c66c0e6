// The order of events within one instant, and the step to the next.
//
// An instant repeats the following steps, in this order, until nothing is left:
//   1. Changes and failures (PlatformChanges).
//   2. Ends: computations, disk accesses, sleeps and latencies, in the order of the agenda; then
//      transfers, in starting order. Each wakes its waiting owner.
//   3. Woken ranks act in the order of waking, each until it blocks (Simulation::run).
//   4. Affected events are rescheduled: sleeps, the last first; then computations; then disks; then
//      transfers, whose link shares are computed once (`settle`).
// Ends of computations and sleeps that are closer than the precision happen together; so do
// latencies. Ends of transfers do not.
#pragma once

#include <cstdint>

#include "clock/clock.hpp"
#include "host/cpu.hpp"
#include "host/disks.hpp"
#include "mpi/point_to_point.hpp"
#include "mpi/rounds.hpp"
#include "network/network.hpp"
#include "simulation/platform_changes.hpp"
#include "support/drawn_order.hpp"
#include "support/stack.hpp"
#include "transfer/transfers.hpp"

namespace tisim {

class Instant {
 public:
  Instant(Clock& clock, Cpu& cpu, Disks& disks, Network& network, Transfers& transfers,
          PlatformChanges& changes, PointToPoint& messages, CollectiveRounds& rounds)
      : clock_(clock),
        cpu_(cpu),
        disks_(disks),
        network_(network),
        transfers_(transfers),
        changes_(changes),
        messages_(messages),
        rounds_(rounds) {}

  // Reschedules the events affected by this instant.
  void settle();
  // Returns the date of the next event if no caller intervenes; infinite if none. Requires that all
  // is settled.
  double next(double until) { return changes_.bring_forward(next_end(), until); }
  // Advances the clock to `date`, before which no event occurs.
  void idle_until(double date) {
    clock_.move_to(date);
    changes_.apply();
  }
  // Advances the clock to the date of `next` and wakes the owners of whatever ends then.
  void advance_to(double date);

#ifdef TISIM_VERIFY
  // Reports transfers that end together in a random order.
  void draw_order(std::uint32_t seed) { order_.draw(seed); }
#endif

 private:
  double next_end();
  void end_dated();
  void end_transfers();

  Clock& clock_;
  Cpu& cpu_;
  Disks& disks_;
  Network& network_;
  Transfers& transfers_;
  PlatformChanges& changes_;
  PointToPoint& messages_;
  CollectiveRounds& rounds_;
  Stack<std::int32_t> owners_;  // scratch
  [[no_unique_address]] DrawnOrder order_;
};

}  // namespace tisim
