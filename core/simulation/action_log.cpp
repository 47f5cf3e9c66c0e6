#include "simulation/action_log.hpp"

namespace tisim {

void ActionLog::begin(Rank& rank, std::int32_t index, const Op& op, std::uint8_t level) {
  ActionStart action{};
  action.time = runtime_.clock.now();
  if (op.kind == Kind::compute || op.kind == Kind::sleep) {
    action.amount = op.amount;
  } else {
    action.bytes = op.bytes;
  }
  action.rank = index;
  action.peer = op.peer;
  action.tag = op.tag;
  action.line = op.line;
  action.comm = op.comm;
  action.kind = static_cast<std::uint8_t>(op.kind);
  action.operation = -1;
  action.level = level;
  if (op.kind == Kind::collective || op.kind == Kind::icollective) {
    const Call& call = runtime_.jobs.of(rank).calls[static_cast<std::uint32_t>(op.call)];
    action.operation = static_cast<std::int8_t>(call.operation);
    action.tag = mpi_.communicators.index_of(rank, op.comm);
    const Communicator& communicator = mpi_.communicators[action.tag];
    action.members = communicator.size;
    const std::int32_t root = root_of(call, action.members);
    action.peer = root < 0 ? -1 : communicator.member(root) - rank.first;
  } else if (op.kind >= Kind::send && op.kind <= Kind::recv_half && op.peer >= 0) {
    action.peer = mpi_.addresses.global_rank(rank, op.peer) - rank.first;
  } else if (level == 0) {
    action.idle = static_cast<std::uint8_t>(finds_no_request(rank));
    if ((op.flags & kNumbered) != 0) note_key(rank, action);
  }
  runtime_.log.begin_action(action);
}

// A wait or test by number shows the key of its request.
void ActionLog::note_key(Rank& rank, ActionStart& action) {
  action.bytes = kAnySource;
  const bool names_one = rank.op.kind == Kind::wait || rank.op.kind == Kind::test;
  const std::int32_t found = names_one ? mpi_.requests.named(rank) : -1;
  if (found < 0 || mpi_.requests[found].type == RequestType::collective) return;
  const Request& request = mpi_.requests[found];
  action.peer = request.source;
  action.bytes = request.destination;
  action.tag = request.tag;
  action.comm = request.comm;
}

// Whether the rank's operation waits for a request, or tests one, and there is none.
bool ActionLog::finds_no_request(Rank& rank) {
  switch (rank.op.kind) {
    case Kind::wait:
    case Kind::test:
    case Kind::wait_last:
    case Kind::test_last:
    case Kind::wait_icollective:
      return mpi_.requests.named(rank) < 0;
    case Kind::waitall:
    case Kind::waitany:
    case Kind::waitsome:
      return mpi_.requests.find_listed(rank, [](std::int32_t) { return true; }) < 0;
    default:
      return false;
  }
}

}  // namespace tisim
