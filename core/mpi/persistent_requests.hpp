// Requests that outlive their completion: persistent requests, MPI_Cancel and MPI_Request_free.
#pragma once

#include <cstdint>

#include "mpi/point_to_point.hpp"
#include "mpi/probes.hpp"
#include "mpi/request_table.hpp"

namespace tisim {

// Persistent requests, made once and started repeatedly: MPI_Send_init, Recv_init, Start and
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
  // Starts the oldest inactive request with the operation's key, or the one with its number.
  bool start(Rank& rank, std::int32_t index);
  // Starts the listed requests, or all inactive ones.
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

  // Completes the request of the rank's operation without a message if it is unmatched. It stays
  // pending. Throws TraceError.
  void cancel(Rank& rank);
  // Detaches the request of the rank's operation, pending or persistent. Throws TraceError.
  void free(Rank& rank);

 private:
  std::int32_t find_persistent(const Rank& rank) const;

  const Matcher& matcher_;
  const CommunicatorTable& communicators_;
  RequestTable& requests_;
  PointToPoint& messages_;
};

}  // namespace tisim
