// MPI_Cancel and MPI_Request_free (ADR 25).
#pragma once

#include <cstdint>

#include "mpi/point_to_point/point_to_point.hpp"

namespace tisim {

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
