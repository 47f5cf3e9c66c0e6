// Requests beyond their completion: persistent ones, MPI_Cancel and MPI_Request_free.
#pragma once

#include <cstdint>

#include "mpi/point_to_point.hpp"
#include "mpi/probes.hpp"
#include "mpi/request_table.hpp"

namespace tisim {

// Requests that are made once and started again and again: MPI_Send_init, Recv_init, Start and
// Startall.
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

// MPI_Cancel and MPI_Request_free (ADR 32).
class Cancellations {
 public:
  Cancellations(const Matcher& matcher, const CommunicatorTable& communicators,
                RequestTable& requests, PointToPoint& messages)
      : matcher_(matcher),
        communicators_(communicators),
        requests_(requests),
        messages_(messages) {}

  // The request of the rank's operation is complete without a message, if its message was not
  // matched. It stays pending. Throws TraceError.
  void cancel(Rank& rank);
  // The request of the rank's operation, pending or persistent, is nobody's any more. Throws
  // TraceError.
  void free(Rank& rank);

 private:
  std::int32_t find_persistent(const Rank& rank) const;

  const Matcher& matcher_;
  const CommunicatorTable& communicators_;
  RequestTable& requests_;
  PointToPoint& messages_;
};

}  // namespace tisim
