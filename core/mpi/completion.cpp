#include "mpi/completion.hpp"

#include <utility>
#include <vector>

namespace tisim {

namespace {
constexpr std::size_t kMany = 256;  // slots from which their memory is freed early
}  // namespace

bool Waits::wait(Rank& rank, std::int32_t index) {
  if ((rank.op.flags & kNumbered) != 0) requests_.name_requests(rank);
  const std::int32_t request =
      rank.schedule >= 0 ? std::exchange(rank.slots[rank.op.line], -1) : requests_.named(rank);
  return request == -1 || wait_for(rank, index, request);
}

bool Waits::wait_for(Rank& rank, std::int32_t index, std::int32_t found) {
  if (RequestTable::is_held(found)) {
    const Request request = requests_.take(rank, found);
    return messages_.block(rank, index, request.message, request.side);
  }
  const Request request = requests_[found];
  if (request.type == RequestType::collective && !request.complete) {  // it has rounds
    requests_.await(rank, found);
    return wait_awaited(rank, index);
  }
  if (request.type == RequestType::collective) {
    for (const std::int32_t part : requests_.collective(request.origin).requests) {
      if (part >= 0) requests_.await(rank, part);
    }
    requests_.drop(rank, found);
    return wait_awaited(rank, index);
  }
  requests_.drop(rank, found);
  if (request.message < 0) return true;
  return messages_.block(rank, index, request.message, request.side);
}

bool Waits::finish(Rank& rank, std::int32_t index, std::int32_t found) {
  const Request request = requests_[found];
  requests_.drop(rank, found);
  if (request.message < 0) return true;
  if (request.side == kReceiver) return messages_.finish_receive(rank, index, request.message);
  messages_.release(request.message);
  return true;
}

bool Waits::wait_awaited(Rank& rank, std::int32_t index) {
  while (rank.awaited > 0) {
    const std::int32_t found = requests_.take_complete(rank);
    if (found == -1) {
      rank.phase = Phase::waiting_all;
      messages_.make_progress(index);
      return false;
    }
    const Request request = requests_.take(rank, found);
    if (request.message < 0) continue;  // a collective with rounds
    if (request.side == kSender) {
      messages_.release(request.message);
      continue;
    }
    const double seconds = messages_.take_received(rank, request.message);
    if (seconds > 0) {
      runtime_.sleep(rank, index, seconds, Phase::completing_all);
      return false;
    }
  }
  return true;
}

bool Waits::wait_pending(Rank& rank, std::int32_t index) {
  if (begins_list(rank.op)) requests_.name_requests(rank);
  if (rank.schedule < 0 && rank.pending.collectives > 0 && insert_collective_waits(rank)) {
    return true;
  }
  if (rank.schedule >= 0) {
    for (std::int32_t left = rank.op.peer; left > 0; --left) {
      std::int32_t& slot = rank.slots[schedules_.op(rank.schedule, rank.step++).line];
      const std::int32_t request = std::exchange(slot, -1);
      if (request != -1) requests_.await(rank, request);
    }
    // Nothing follows the waitall of an all-to-all, which has many slots: free them.
    if (rank.slots.size() >= kMany && rank.step == schedules_.size(rank.schedule)) {
      rank.slots = {};
    }
  } else {
    requests_.find_listed(rank, [&](std::int32_t at) {
      requests_.await(rank, at);
      return false;
    });
  }
  return wait_awaited(rank, index);
}

// Like SimGrid's waitall, first completes non-blocking collectives one by one. Returns false if
// there are none to wait for.
bool Waits::insert_collective_waits(Rank& rank) {
  std::vector<Op> ops;
  Op op;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  op.kind = Kind::wait;
  requests_.find_listed(rank, [&](std::int32_t at) {
    op.bytes = at;
    if (requests_[at].type == RequestType::collective) ops.push_back(op);
    return false;
  });
  if (ops.empty()) return false;
  if (role_of(rank.op.kind) == Role::complete_all) {
    op = rank.op;
    op.flags |= kContinuation;
    ops.push_back(op);
  }
  rank.insert(ops);
  return true;
}

// Requests without a message come first, among them non-blocking collectives, which are waited for
// as a whole.
bool Waits::wait_any(Rank& rank, std::int32_t index) {
  if (begins_list(rank.op)) requests_.name_requests(rank);
  const std::int32_t without = requests_.find_listed(
      rank, [&](std::int32_t at) { return requests_[at].message < 0 && requests_[at].complete; });
  if (without >= 0) {
    note_taken(rank, without);
    return wait_for(rank, index, without);
  }
  const std::int32_t complete = requests_.first_with_message(rank, true);
  if (complete >= 0) {
    note_taken(rank, complete);
    return finish(rank, index, complete);
  }
  bool waits = false;
  requests_.find_listed(rank, [&](std::int32_t at) {
    requests_.await(rank, at);
    waits = true;
    return false;
  });
  if (!waits) return true;
  rank.phase = Phase::waiting_any;
  messages_.make_progress(index);
  return false;
}

// SimGrid waits for any request, then tests each of the others.
bool Waits::wait_some(Rank& rank, std::int32_t index) {
  Op rest = rank.op;
  rest.kind = Kind::testsome;
  rest.flags |= kContinuation;
  rank.insert({&rest, 1});
  return wait_any(rank, index);
}

bool Waits::finish_any(Rank& rank, std::int32_t index) {
  for (std::int32_t at = rank.pending.first; at >= 0; at = requests_.listing(at).next) {
    requests_.stop_awaiting(rank, at);
  }
  rank.ready.clear();
  note_taken(rank, rank.waiting);
  return finish(rank, index, rank.waiting);
}

// Read by the driver of a rank.
void Waits::note_taken(Rank& rank, std::int32_t request) {
  if ((rank.op.flags & kByNumber) != 0) rank.optional->taken = request;
}

bool RequestTests::test_each(Rank& rank) {
  if (begins_list(rank.op)) requests_.name_requests(rank);
  std::vector<Op> ops;
  Op op;
  op.kind = Kind::test;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  requests_.find_listed(rank, [&](std::int32_t at) {
    op.bytes = at;
    ops.push_back(op);
    return false;
  });
  rank.insert(ops);
  return true;
}

bool RequestTests::test(Rank& rank, std::int32_t index) {
  if ((rank.op.flags & kEndsCollectiveTest) != 0) {
    finish_collective(rank);
    return true;
  }
  if ((rank.op.flags & kNumbered) != 0) requests_.name_requests(rank);
  if (requests_.named(rank) < 0 && (rank.op.flags & kByNumber) == 0) return true;
  waits_.make_progress(index);
  if (cost_.test_is_free()) return finish_one(rank, index);
  runtime_.sleep(rank, index, cost_.test_seconds(), Phase::testing);
  return false;
}

// Only requests with a message are considered.
bool RequestTests::test_any(Rank& rank, std::int32_t index) {
  if (begins_list(rank.op)) requests_.name_requests(rank);
  if (requests_.first_with_message(rank, false) < 0) return true;
  waits_.make_progress(index);
  if (cost_.test_is_free()) return finish_any(rank, index);
  runtime_.sleep(rank, index, cost_.test_any_seconds(), Phase::testing);
  return false;
}

bool RequestTests::ask(Rank& rank, std::int32_t index) {
  if (!needs_message_state(rank)) return finish_one(rank, index);
  rank.phase = Phase::tested;
  runtime_.clock.wake(index);
  return false;
}

// Otherwise the result of the test is known at once.
bool RequestTests::needs_message_state(Rank& rank) {
  if (rank.op.kind == Kind::testany) return true;
  const std::int32_t found = requests_.named(rank);
  return found >= 0 && requests_[found].message >= 0;
}

bool RequestTests::finish_one(Rank& rank, std::int32_t index) {
  const std::int32_t found = requests_.named(rank);
  if (found < 0) return true;  // part of a collective, already completed
  const Request& request = requests_[found];
  if (!request.complete) {
    cost_.test_failed();
    return true;
  }
  if (request.type == RequestType::collective) {
    test_collective(rank, found);
    return true;
  }
  if (!request.listed) {
    requests_.collective(rank.op.peer).requests[static_cast<std::size_t>(rank.op.tag)] = -1;
  }
  if (!waits_.finish(rank, index, found)) return false;
  cost_.test_succeeded();
  return true;
}

bool RequestTests::finish_any(Rank& rank, std::int32_t index) {
  const std::int32_t found = requests_.first_with_message(rank, true);
  if (found < 0) {
    cost_.test_any_failed();
    return true;
  }
  if (!waits_.finish(rank, index, found)) return false;
  cost_.test_any_succeeded();
  return true;
}

void RequestTests::received(const Rank& rank) {
  const KindTraits& traits = traits_of(rank.op.kind);
  if (traits.blocks) return;
  if (traits.role == Role::complete_any) cost_.test_any_succeeded();
  if (traits.role == Role::complete_one || traits.role == Role::complete_last) {
    cost_.test_succeeded();
  }
}

// Tests each of a collective's requests, including completed ones; a final operation ends the test.
void RequestTests::test_collective(Rank& rank, std::int32_t request) {
  std::vector<Op> ops;
  Op op;
  op.kind = Kind::test;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  op.peer = requests_[request].origin;
  op.tag = 0;
  for (const std::int32_t part : requests_.collective(op.peer).requests) {
    op.bytes = part;
    ops.push_back(op);
    ++op.tag;
  }
  op.flags |= kEndsCollectiveTest;
  op.bytes = request;
  ops.push_back(op);
  rank.insert(ops);
}

void RequestTests::finish_collective(Rank& rank) {
  for (const std::int32_t part : requests_.collective(rank.op.peer).requests) {
    if (part < 0) continue;
    cost_.test_failed();
    return;
  }
  requests_.drop(rank, static_cast<std::int32_t>(rank.op.bytes));
  cost_.test_succeeded();
}

}  // namespace tisim
