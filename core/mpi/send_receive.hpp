// MPI_Sendrecv: posts both halves, the sending one first, as in SimGrid, then waits for both. If
// messages are ordered, the receiving half is posted first, as in Open MPI and MPICH.
//
// The size of the receiving half is known, so it need not probe: traces, schedules and the
// operations of processes cannot have a negative one.
#pragma once

#include <cstdint>

#include "mpi/completion.hpp"
#include "mpi/operation_source.hpp"
#include "mpi/point_to_point.hpp"

namespace tisim {

class SendReceive {
 public:
  SendReceive(OperationSource& source, const Schedules& schedules, const Addresses& addresses,
              PointToPoint& messages, Waits& waits)
      : source_(source),
        schedules_(schedules),
        addresses_(addresses),
        messages_(messages),
        waits_(waits) {}

  // With MPI_PROC_NULL on one side it is a plain send or receive; with the rank itself on both it
  // is a no-op.
  bool begin(Rank& rank, std::int32_t index);
  // The overhead of the send, or of a plain send, has been paid.
  bool post_send(Rank& rank, std::int32_t index) {
    if (!messages_.post_send(rank, index)) return false;
    return rank.op.kind != Kind::sendrecv || finish(rank, index);
  }

 private:
  Op take_receive(Rank& rank);
  void receive(Rank& rank, std::int32_t index);
  bool finish(Rank& rank, std::int32_t index);

  OperationSource& source_;
  const Schedules& schedules_;
  const Addresses& addresses_;
  PointToPoint& messages_;
  Waits& waits_;
};

}  // namespace tisim
