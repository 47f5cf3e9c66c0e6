// Pending requests of a rank, and waiting for several of them.

#include <algorithm>

#include "simulation/simulation.hpp"

namespace tisim {

// A new request for the operation that the rank executes; message -1: nothing to wait for. In a
// schedule it goes to the operation's slot, a sendrecv awaits it at once, and otherwise it is
// pending under the key that a later wait or test names.
std::int32_t Simulation::add_request(Rank& rank, Side side, std::int32_t message) {
  const Op& op = rank.op;
  const std::int32_t index = requests_.acquire();
  Request& request = requests_[index];
  request.message = message;
  request.side = side;
  request.order = rank.request_order++;
  request.complete = message < 0 || matcher_.message(message).arrived;
  if (message >= 0) matcher_.message(message).request[side] = index;
  if (op.kind == Kind::sendrecv || op.kind == Kind::recv_half) {
    await(rank, index);
  } else if (rank.schedule >= 0) {
    rank.slots[op.line] = index;
  } else {
    const std::int32_t me = op.comm == 0 ? rank.number : number_in(rank, op.comm);
    request.source = side == kSender ? me : op.peer;
    request.destination = side == kSender ? op.peer : me;
    request.tag = op.tag;
    request.source_lost = (op.flags & kSourceLost) != 0;
    if (rank.origin >= 0) {
      request.type = RequestType::persistent;
      request.origin = rank.origin;
      rank.origin = -1;
    }
    list_request(rank, index);
  }
  return index;
}

// Makes a request the last of those that are pending, on the operation's communicator.
void Simulation::list_request(Rank& rank, std::int32_t index) {
  Request& request = requests_[index];
  request.comm = rank.op.comm;
  request.listed = true;
  request.previous = rank.pending_last;
  (rank.pending_last >= 0 ? requests_[rank.pending_last].next : rank.pending_first) = index;
  rank.pending_last = index;
  if (!rank.indexed || request.type == RequestType::collective) return;
  if (request.source_lost) {
    forget_index(rank);
  } else {
    request_index_.add(rank.first + rank.number, request, index);
  }
}

void Simulation::forget_index(Rank& rank) {
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    request_index_.remove(rank.first + rank.number, requests_[at]);
  }
  rank.indexed = false;
}

// The oldest pending request of the key that the rank's operation names, -1: none.
std::int32_t Simulation::find_request(Rank& rank) {
  Request like;
  like.source = rank.op.peer;
  like.destination = static_cast<std::int32_t>(rank.op.bytes);
  like.tag = rank.op.tag;
  like.comm = rank.op.comm;
  if (rank.indexed) return request_index_.find(rank.first + rank.number, like);
  std::int32_t looks = 0;
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next, ++looks) {
    const Request& request = requests_[at];
    if (request.type == RequestType::collective || request.comm != like.comm) continue;
    if ((request.source == like.source || request.source_lost) &&
        request.destination == like.destination && request.tag == like.tag) {
      if (looks > RequestIndex::kFew) index_requests(rank);
      return at;
    }
  }
  return -1;
}

// Requests whose sources were lost are found by looking through all.
void Simulation::index_requests(Rank& rank) {
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    if (requests_[at].source_lost) return;
  }
  rank.indexed = true;
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    if (requests_[at].type == RequestType::collective) continue;
    request_index_.add(rank.first + rank.number, requests_[at], at);
  }
}

// The oldest pending non-blocking collective of the tag that SimGrid gives its kind, -1: none.
std::int32_t Simulation::find_collective(const Rank& rank) const {
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    const Request& request = requests_[at];
    if (request.type == RequestType::collective && request.tag == rank.op.tag &&
        request.comm == rank.op.comm) {
      return at;
    }
  }
  return -1;
}

// The request that a wait or test of the trace is about, -1: none.
std::int32_t Simulation::named_request(Rank& rank) {
  const Op& op = rank.op;
  if ((op.flags & kByNumber) != 0) return static_cast<std::int32_t>(op.bytes);
  if (op.kind == Kind::wait_last || op.kind == Kind::test_last) return rank.pending_last;
  // No message has a negative tag.
  return op.tag < 0 && op.tag != kAnyTag ? find_collective(rank) : find_request(rank);
}

bool Simulation::has_pending_request(const Rank& rank, std::int32_t index) const {
  if (index < 0 || at(index) >= requests_.capacity() || !requests_[index].listed) return false;
  const Request& request = requests_[index];
  const std::int32_t me = request.side == kSender ? request.source : request.destination;
  return request.type == RequestType::message && request.comm == 0 && me == rank.number;
}

void Simulation::drop_request(Rank& rank, std::int32_t index) {
  const Request& request = requests_[index];
  if (request.listed) {
    (request.previous >= 0 ? requests_[request.previous].next : rank.pending_first) = request.next;
    (request.next >= 0 ? requests_[request.next].previous : rank.pending_last) = request.previous;
    if (request.type == RequestType::persistent) {
      rank.persistent()[at(request.origin)].active = false;
    } else if (request.type == RequestType::collective) {
      started_.release(request.origin);
      --rank.pending_collectives;
    }
    if (rank.indexed) {
      request_index_.remove(rank.first + rank.number, request);
      rank.indexed = rank.pending_first >= 0;
    }
    requests_[index].listed = false;
  }
  requests_.release(index);
}

bool Simulation::wait_request(Rank& rank, std::int32_t index, std::int32_t found) {
  const Request request = requests_[found];
  if (request.type == RequestType::collective) {
    for (const std::int32_t part : started_[request.origin].requests) {
      if (part >= 0) await(rank, part);
    }
    drop_request(rank, found);
    return wait_all(rank, index);
  }
  drop_request(rank, found);
  if (request.message < 0) return true;
  const auto side = static_cast<Side>(request.side);
  matcher_.message(request.message).request[side] = kBlockingCall;
  return wait_for(rank, index, request.message, side);
}

// A request whose message has arrived, or never needed to.
bool Simulation::finish_request(Rank& rank, std::int32_t index, std::int32_t found) {
  const Request request = requests_[found];
  drop_request(rank, found);
  if (request.message < 0) return true;
  if (request.side == kReceiver) return finish_receive(rank, index, request.message);
  let_go(request.message);
  return true;
}

// Puts a request among those that `wait_all` finishes.
void Simulation::await(Rank& rank, std::int32_t index) {
  Request& request = requests_[index];
  if (request.message < 0) {
    drop_request(rank, index);
    return;
  }
  request.awaited = true;
  ++rank.awaited;
  if (request.complete) {
    add_ready(rank, index);
    return;
  }
  Message& message = matcher_.message(request.message);
  if (!message.waited) {
    message.waited = true;
    message.first_waiter = static_cast<Side>(request.side);
  }
}

void Simulation::add_ready(Rank& rank, std::int32_t request) {
  rank.ready.push_back(request);
  std::push_heap(rank.ready.begin(), rank.ready.end(), [this](std::int32_t a, std::int32_t b) {
    return requests_[a].order > requests_[b].order;
  });
}

// Finishes the awaited requests one after the other, as they complete; of several complete ones
// that which was posted first. Each receive may cost its overhead.
bool Simulation::wait_all(Rank& rank, std::int32_t index) {
  while (rank.awaited > 0) {
    if (rank.ready.empty()) {
      rank.phase = Phase::waiting_all;
      return false;
    }
    std::pop_heap(rank.ready.begin(), rank.ready.end(), [this](std::int32_t a, std::int32_t b) {
      return requests_[a].order > requests_[b].order;
    });
    const std::int32_t found = rank.ready.back();
    rank.ready.pop_back();
    --rank.awaited;
    const Request request = requests_[found];
    drop_request(rank, found);
    const double seconds =
        request.side == kReceiver ? receive_overhead(rank, matcher_.message(request.message)) : 0.0;
    if (recorder_ && request.side == kReceiver) recorder_->receive(request.message);
    let_go(request.message);
    if (seconds > 0) {
      sleep(index, seconds, Phase::finishing_all);
      return false;
    }
  }
  return true;
}

// The waitall of a trace takes all pending requests, that of a schedule the slots that follow it.
bool Simulation::await_pending(Rank& rank, std::int32_t index) {
  if (rank.schedule < 0 && rank.pending_collectives > 0) {
    wait_for_collectives(rank);
    return true;
  }
  if (rank.schedule >= 0) {
    for (std::int32_t left = rank.op.peer; left > 0; --left) {
      await(rank, rank.slots[schedules_.op(rank.schedule, rank.step++).line]);
    }
  } else {
    for (std::int32_t next = -1, at = rank.pending_first; at >= 0; at = next) {
      next = requests_[at].next;
      await(rank, at);
    }
  }
  return wait_all(rank, index);
}

// As SimGrid's waitall, which finishes non-blocking collectives first, one after the other.
void Simulation::wait_for_collectives(Rank& rank) {
  std::vector<Op> ops;
  Op op;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  op.kind = Kind::wait;
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    if (requests_[at].type != RequestType::collective) continue;
    op.bytes = at;
    ops.push_back(op);
  }
  if (rank.op.kind == Kind::waitall) {
    op.kind = Kind::waitall;
    op.flags = kContinuation;
    ops.push_back(op);
  }
  insert(rank, ops);
}

}  // namespace tisim
