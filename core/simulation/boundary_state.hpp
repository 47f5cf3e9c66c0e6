// All that decides how a simulation goes on, relative to the present date: where ranks are, which
// messages and requests are under way, when what has begun will end.
//
// Two dates with equal states are followed by the same, as long as ranks go on to do the same.
// Numbers that a simulation gives (of messages, flows, requests) do not count: others may be given
// for the same state. Nor does the order of what happens together (ADR 12).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "clock/clock.hpp"
#include "host/cpu.hpp"
#include "mpi/mpi.hpp"
#include "mpi/rank/loop_observer.hpp"
#include "network/network.hpp"

namespace tisim {

// What a state is taken of.
struct StateSource {
  Clock& clock;
  const Cpu& cpu;
  const Network& network;
  Ranks& ranks;
  const Mpi& mpi;
};

class BoundaryState {
 public:
  BoundaryState() = default;
  // To be made when all that was moved at an instant has been dated. It takes as long as there are
  // ranks, and messages and flows under way.
  BoundaryState(const StateSource& source, const LoopObserver& loops);

  // What making one would look at, at most: ranks, requests, messages, channels.
  static std::uint64_t things_in(const StateSource& source) {
    return source.ranks.size() + source.mpi.requests.in_use() +
           source.mpi.matcher.messages().in_use() + source.mpi.matcher.channels();
  }

  // How many seconds what will end does so earlier or later than in another state, at most; none:
  // the states differ in more than that.
  std::optional<double> difference(const BoundaryState& other) const;

 private:
  // What will end, by what it is.
  struct End {
    std::uint64_t key = 0;
    double seconds = 0.0;  // from the date of the state on
  };

  void add_ends(const StateSource& source);

  std::uint64_t hash_ = 0;
  std::vector<End> ends_;  // in order
};

}  // namespace tisim
