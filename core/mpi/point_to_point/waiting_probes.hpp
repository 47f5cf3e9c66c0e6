// Ranks whose probe waits for any message to be sent to them, because probing takes no time.
#pragma once

#include <cstdint>

#include "mpi/rank/runtime.hpp"

namespace tisim {

class WaitingProbes {
 public:
  explicit WaitingProbes(const Runtime& runtime) : runtime_(runtime) {}

  void add(Rank& rank) {
    rank.phase = Phase::waiting_for_any_send;
    rank.woken_to_probe = false;
    ++count_;
  }
  // A message that no receive waits for was sent to a rank, which probes again: once, also where
  // several are sent before it does.
  void message_sent(std::int32_t destination) {
    if (count_ == 0) return;
    Rank& rank = runtime_.ranks[destination];
    if (rank.phase != Phase::waiting_for_any_send || rank.woken_to_probe) return;
    rank.woken_to_probe = true;
    --count_;
    runtime_.clock.wake(destination);
  }

 private:
  Runtime runtime_;
  std::int32_t count_ = 0;
};

}  // namespace tisim
