// The order of one instant, and the step to the next.
//
// At an instant happens, in this order, until nothing is left:
//   1. What changes or fails (PlatformChanges).
//   2. What ends: computations, reads and writes of disks, sleeps and latencies, as the agenda has
//      them; then transfers, in the order in which they started. Each wakes whoever waits for it.
//   3. Whoever was woken acts, in the order of waking, each until it blocks (Simulation::run).
//   4. What this has moved is dated anew: sleeps first, the last one first, then computations, then
//      disks, then transfers, whose links are shared once (`settle`).
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

  // Dates what the acts of this instant have moved.
  void settle();
  // When something happens next, if nobody outside acts before; infinite: never. All is settled.
  double next(double until) { return changes_.bring_forward(next_end(), until); }
  // Nothing happens before `date`.
  void idle_until(double date) {
    clock_.move_to(date);
    changes_.apply();
  }
  // Moves the clock to the date of `next` and wakes whoever waits for what ends then.
  void advance_to(double date);

#ifdef TISIM_VERIFY
  // Transfers that end together are told of in a drawn order.
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
