#include "mpi/point_to_point/persistent_requests.hpp"

#include <vector>

namespace tisim {

void PersistentRequests::create(Rank& rank) const {
  // Whoever is no rank of the communicator is found now.
  if (rank.op.peer != kProcNull && rank.op.peer != kAnySource) {
    addresses_.global_rank(rank, rank.op.peer);
  }
  rank.optional_state().persistent.push_back({rank.op, false});
}

// Whether a start names the rank's persistent request of a number; `me`: the rank's number in the
// operation's communicator.
bool PersistentRequests::is_named(const Rank& rank, std::size_t number, std::int32_t me) {
  const Op& op = rank.op;
  if ((op.flags & kByNumber) != 0) return static_cast<std::int64_t>(number) == op.bytes;
  const Op& made = rank.persistent()[number].op;
  const bool receives = made.kind == Kind::recv_init;
  return made.tag == op.tag && made.comm == op.comm && (receives ? made.peer : me) == op.peer &&
         (receives ? me : made.peer) == op.bytes;
}

bool PersistentRequests::start(Rank& rank, std::int32_t index) {
  const std::int32_t me = communicators_.number_in(rank, rank.op.comm);
  for (std::size_t i = 0; i < rank.persistent().size(); ++i) {
    PersistentRequest& request = rank.persistent()[i];
    if (request.active || !is_named(rank, i, me)) continue;
    if (request.op.peer == kProcNull) return true;  // starts nothing, is never pending
    request.active = true;
    const std::uint32_t line = rank.op.line;
    rank.op = request.op;
    rank.op.line = line;
    rank.starting = static_cast<std::int32_t>(i);
    return rank.op.kind == Kind::recv_init ? probes_.receive(rank, index)
                                           : messages_.send(rank, index);
  }
  return true;
}

void PersistentRequests::start_all(Rank& rank) const {
  std::vector<Op> ops;
  Op op;
  op.kind = Kind::start;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  for (const PersistentRequest& request : rank.persistent()) {
    if (!request.active) ops.push_back(op);
    ++op.bytes;
  }
  rank.insert(ops);
}

}  // namespace tisim
