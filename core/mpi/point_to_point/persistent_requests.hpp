// Requests that are made once and started again and again: MPI_Send_init, Recv_init, Start and
// Startall.
#pragma once

#include <cstdint>

#include "mpi/point_to_point/probes.hpp"
#include "mpi/request/request_table.hpp"

namespace tisim {

class PersistentRequests {
 public:
  PersistentRequests(const CommunicatorTable& communicators, const Addresses& addresses,
                     RequestTable& requests, PointToPoint& messages, Probes& probes)
      : communicators_(communicators),
        addresses_(addresses),
        requests_(requests),
        messages_(messages),
        probes_(probes) {}

  void create(Rank& rank) const;
  // Starts the oldest one of the operation's key that is not under way, or the one of its number.
  bool start(Rank& rank, std::int32_t index);
  // Starts those that it lists, or all that are not under way.
  void start_all(Rank& rank) const;

 private:
  std::int32_t find(Rank& rank) const;

  const CommunicatorTable& communicators_;
  const Addresses& addresses_;
  RequestTable& requests_;
  PointToPoint& messages_;
  Probes& probes_;
};

}  // namespace tisim
