// Where the messages of an operation go: what its peer and its communicator mean.
#pragma once

#include <cstdint>

#include "mpi/communicator/communicator_table.hpp"
#include "mpi/schedule/schedules.hpp"

namespace tisim {

class Addresses {
 public:
  Addresses(const Jobs& jobs, const CommunicatorTable& communicators, const Schedules& schedules)
      : jobs_(jobs), communicators_(communicators), schedules_(schedules) {}

  // The number in the simulation of a rank of the operation's communicator.
  std::int32_t global_rank(const Rank& rank, std::int32_t peer) const {
    if (rank.schedule >= 0) return peer;
    if (rank.op.comm == 0) return rank.first + peer;
    return member(rank, peer);
  }
  // Contexts keep apart the communicators, and collectives from the program's own messages.
  std::int32_t context(const Rank& rank) const {
    if (rank.schedule >= 0) return schedules_.context(rank.schedule);
    if (rank.op.comm == 0) return rank.context;
    return communicators_[communicators_.index_of(rank, rank.op.comm)].context;
  }

 private:
  std::int32_t member(const Rank& rank, std::int32_t peer) const;

  const Jobs& jobs_;
  const CommunicatorTable& communicators_;
  const Schedules& schedules_;
};

}  // namespace tisim
