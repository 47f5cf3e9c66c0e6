// MPI_Probe and Iprobe, and receives of unknown size, which probe first.
#pragma once

#include <cstdint>

#include "mpi/completion.hpp"
#include "mpi/point_to_point.hpp"

namespace tisim {

class Probes {
 public:
  Probes(const Runtime& runtime, const Network& network, Matcher& matcher,
         const Addresses& addresses, const Protocol& protocol, PointToPoint& messages,
         PollingCost& cost, WaitingProbes& waiting)
      : runtime_(runtime),
        network_(network),
        matcher_(matcher),
        addresses_(addresses),
        protocol_(protocol),
        messages_(messages),
        cost_(cost),
        waiting_(waiting) {}

  // A probe of the trace.
  bool probe(Rank& rank, std::int32_t index) {
    return rank.op.peer == kProcNull || begin(rank, index);
  }
  // A receive of known or unknown size.
  bool receive(Rank& rank, std::int32_t index) {
    if (rank.op.bytes < 0 && rank.op.peer != kProcNull) return begin(rank, index);
    return messages_.receive(rank, index);
  }

  // SimGrid computes for the duration of a probe, so that probing uses CPU time.
  bool begin(Rank& rank, std::int32_t index);
  // The time of the probe is over. The rank gets the result after all ranks that act in this round
  // of the instant.
  bool look_up(Rank& rank, std::int32_t index);
  // The result is known: a probe, or a receive of unknown size, repeats until there is a message.
  bool finish(Rank& rank, std::int32_t index);

 private:
  std::int32_t find(const Rank& rank, std::int32_t index);
  bool all_ranks_stuck();
  bool is_stuck(std::int32_t index);

  Runtime runtime_;
  const Network& network_;
  Matcher& matcher_;
  const Addresses& addresses_;
  const Protocol& protocol_;
  PointToPoint& messages_;
  PollingCost& cost_;
  WaitingProbes& waiting_;
  std::int64_t failures_ = 0;  // since a probe last found a message
};

}  // namespace tisim
