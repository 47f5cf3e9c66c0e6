// Requests that are made once and started again and again: MPI_Send_init, Recv_init, Start and
// Startall.
#pragma once

#include <cstdint>

#include "mpi/point_to_point/probes.hpp"

namespace tisim {

class PersistentRequests {
 public:
  PersistentRequests(const CommunicatorTable& communicators, const Addresses& addresses,
                     PointToPoint& messages, Probes& probes)
      : communicators_(communicators),
        addresses_(addresses),
        messages_(messages),
        probes_(probes) {}

  void create(Rank& rank) const;
  // Starts the oldest one of the operation's key (or the one it numbers) that is not under way.
  bool start(Rank& rank, std::int32_t index);
  void start_all(Rank& rank) const;

 private:
  static bool is_named(const Rank& rank, std::size_t number, std::int32_t me);

  const CommunicatorTable& communicators_;
  const Addresses& addresses_;
  PointToPoint& messages_;
  Probes& probes_;
};

}  // namespace tisim
