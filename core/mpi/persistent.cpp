// Requests that are made once and started again and again.

#include <span>

#include "simulation/simulation.hpp"

namespace tisim {

void Simulation::make_persistent(Rank& rank) {
  PersistentRequest made{rank.op, false};
  if (rank.op.peer != kProcNull && rank.op.peer != kAnySource) global(rank, rank.op.peer);
  rank.its_own().persistent.push_back(made);
}

// Starts the oldest one of the operation's key (or the one it numbers) that is not under way.
bool Simulation::start_persistent(Rank& rank, std::int32_t index) {
  const Op op = rank.op;
  const std::int32_t me = op.comm == 0 ? rank.number : number_in(rank, op.comm);
  const std::span<PersistentRequest> persistent = rank.persistent();
  for (std::size_t i = 0; i < persistent.size(); ++i) {
    PersistentRequest& request = persistent[i];
    const bool receives = request.op.kind == Kind::recv_init;
    const bool named = (op.flags & kByNumber) != 0
                           ? static_cast<std::int64_t>(i) == op.bytes
                           : request.op.tag == op.tag && request.op.comm == op.comm &&
                                 (receives ? request.op.peer : me) == op.peer &&
                                 (receives ? me : request.op.peer) == op.bytes;
    if (request.active || !named) continue;
    if (request.op.peer == kProcNull) return true;  // starts nothing, is never pending
    request.active = true;
    rank.op = request.op;
    rank.op.line = op.line;
    rank.origin = static_cast<std::int32_t>(i);
    return receives ? receive(rank, index) : send(rank, index);
  }
  return true;
}

void Simulation::start_all(Rank& rank) {
  std::vector<Op> ops;
  Op op;
  op.kind = Kind::start;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  for (const PersistentRequest& request : rank.persistent()) {
    if (!request.active) ops.push_back(op);
    ++op.bytes;
  }
  insert(rank, ops);
}

}  // namespace tisim
