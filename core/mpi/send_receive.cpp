#include "mpi/send_receive.hpp"

namespace tisim {

// The receiving half stays in the buffer while the send is posted: it is the last operation taken.
Op SendReceive::take_receive(Rank& rank) {
  if (rank.schedule >= 0) return schedules_.op(rank.schedule, rank.step++);
  return source_.next(rank);
}

bool SendReceive::begin(Rank& rank, std::int32_t index) {
  const Op half = take_receive(rank);
  if (half.peer == kProcNull) {
    rank.op.kind = Kind::send;
    return messages_.send(rank, index);
  }
  if (rank.op.peer == kProcNull) {
    rank.op = half;
    rank.op.kind = Kind::recv;
    return messages_.receive(rank, index);
  }
  const std::int32_t destination = addresses_.global_rank(rank, rank.op.peer);
  if (destination == index && half.peer != kAnySource &&
      addresses_.global_rank(rank, half.peer) == index) {
    return true;
  }
  if (messages_.handshake()) {
    const Op sending = rank.op;
    receive(rank, index);
    rank.op = sending;
  }
  return messages_.send(rank, index) && finish(rank, index);
}

void SendReceive::receive(Rank& rank, std::int32_t index) {
  rank.op = rank.schedule >= 0 ? schedules_.op(rank.schedule, rank.step - 1)
                               : rank.buffer[rank.cursor - 1];
  messages_.receive(rank, index);
}

bool SendReceive::finish(Rank& rank, std::int32_t index) {
  if (!messages_.handshake()) receive(rank, index);
  return waits_.wait_awaited(rank, index);
}

}  // namespace tisim
