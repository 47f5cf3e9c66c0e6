#include "simulation/action_log.hpp"

#include <numeric>
#include <span>
#include <utility>

#include "trace/vocabulary/collective_call.hpp"

namespace tisim {

namespace {

std::int64_t bytes_of(std::span<const double> counts, std::int64_t width) {
  return static_cast<std::int64_t>(std::accumulate(counts.begin(), counts.end(), 0.0)) * width;
}

// Bytes that a rank sends and receives by its arguments. `number`: its rank in the communicator.
void note_sizes(ActionStart& action, const Call& call, std::int32_t number) {
  const CollectiveCall decoded(call, action.members);
  action.bytes = action.received = 0;
  if (!decoded.fits) return;
  action.bytes = decoded.send_counts.empty() ? decoded.send_bytes()
                                             : bytes_of(decoded.send_counts, decoded.send_width);
  action.received = decoded.receive_counts.empty()
                        ? decoded.receive_bytes()
                        : bytes_of(decoded.receive_counts, decoded.receive_width);
  if (!decoded.destinations.empty() || !decoded.sources.empty()) {
    action.bytes = decoded.bytes_to_neighbours();
    action.received = decoded.bytes_from_neighbours();
    return;
  }
  const bool is_root = number == decoded.root;
  switch (decoded.operation) {
    case Operation::bcast:
      if (!is_root) std::swap(action.bytes, action.received);
      break;
    case Operation::reduce:
      if (is_root) action.received = action.bytes;
      break;
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
      action.received = action.bytes;
      break;
    case Operation::gather:
    case Operation::gatherv:
      if (!is_root) action.received = 0;
      break;
    case Operation::scatter:
    case Operation::scatterv:
      if (!is_root) action.bytes = 0;
      break;
    case Operation::reducescatter:
      action.bytes = action.received;
      action.received =
          static_cast<std::int64_t>(decoded.receive_counts[static_cast<std::size_t>(number)]) *
          decoded.receive_width;
      break;
    default:
      break;
  }
}

// A file handle is not logged as a rank, nor the number of a call as a size.
void note_file(ActionStart& action, const Op& op) {
  action.operation = static_cast<std::int8_t>(file_call_of(op));
  const Operation call = posix_equivalent(file_call_of(op));
  const bool moves = call == Operation::read || call == Operation::write ||
                     call == Operation::pread || call == Operation::pwrite;
  if (!moves) action.bytes = 0;
  action.peer = -1;
  action.tag = 0;
}

}  // namespace

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
  if (has_collective_call(op.kind)) {
    const Call& call = runtime_.jobs.of(rank).calls[static_cast<std::uint32_t>(op.call)];
    action.operation = static_cast<std::int8_t>(call.operation);
    action.tag = mpi_.communicators.index_of(rank, op.comm);
    const Communicator& communicator = mpi_.communicators[action.tag];
    action.members = communicator.size;
    const std::int32_t root = root_of(call, action.members);
    action.peer = root < 0 ? -1 : communicator.member(root) - rank.first;
    if (level == 0) note_sizes(action, call, mpi_.communicators.number_in(rank, op.comm));
  } else if (op.kind == Kind::file) {
    note_file(action, op);
  } else if (op.kind == Kind::window) {
    action.operation = static_cast<std::int8_t>(window_call_of(op));
    if (window_traits_of(window_call_of(op)).form != WindowForm::access) action.bytes = 0;
    action.peer = op.peer < 0 ? -1 : mpi_.addresses.global_rank(rank, op.peer) - rank.first;
    action.tag = 0;
  } else if (is_point_to_point(op.kind) && op.peer >= 0) {
    action.peer = mpi_.addresses.global_rank(rank, op.peer) - rank.first;
  } else if (level == 0) {
    action.idle = static_cast<std::uint8_t>(finds_no_request(rank));
    if ((op.flags & kNumbered) != 0) note_key(rank, action);
  }
  runtime_.log.begin_action(action);
}

// Logs the request key of a wait or test by number.
void ActionLog::note_key(Rank& rank, ActionStart& action) {
  action.bytes = kAnySource;
  const std::int32_t request = names_one_request(rank.op.kind) ? mpi_.requests.named(rank) : -1;
  if (request < 0 || mpi_.requests[request].type == RequestType::collective) return;
  const RequestKey& key = mpi_.requests.listing(request).key;
  action.peer = key.source;
  action.bytes = key.destination;
  action.tag = key.tag;
  action.comm = mpi_.requests[request].comm;
}

// Returns true if the rank's operation waits for or tests a request that does not exist.
bool ActionLog::finds_no_request(Rank& rank) {
  const KindTraits& traits = traits_of(rank.op.kind);
  switch (traits.role) {
    case Role::complete_one:
    case Role::complete_last:
    case Role::complete_collective:
    case Role::cancel:
      return mpi_.requests.named(rank) < 0;
    case Role::complete_all:
    case Role::complete_any:
    case Role::complete_some:
      return traits.blocks &&
             mpi_.requests.find_listed(rank, [](std::int32_t) { return true; }) < 0;
    default:
      return false;
  }
}

}  // namespace tisim
