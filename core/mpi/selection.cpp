// Waiting for one of several requests, and testing: SimGrid's smpi_request.cpp, with what its tests
// cost. A request without a message (a detached send, a call to nobody) is complete at once.

#include "simulation/simulation.hpp"

namespace tisim {

// The first pending request that waits for a message (if `complete`: for one that has arrived).
std::int32_t Simulation::first_with_message(const Rank& rank, bool complete) const {
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    if (requests_[at].message >= 0 && (requests_[at].complete || !complete)) return at;
  }
  return -1;
}

// Those without a message come first; a non-blocking collective is one of them, and is waited for
// as a whole.
bool Simulation::wait_any(Rank& rank, std::int32_t index) {
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    if (requests_[at].message < 0) return wait_request(rank, index, at);
  }
  const std::int32_t complete = first_with_message(rank, true);
  if (complete >= 0) return finish_request(rank, index, complete);
  if (rank.pending_first < 0) return true;
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) await(rank, at);
  rank.phase = Phase::waiting_any;
  return false;
}

// `rank.waiting` is the request that was completed first.
bool Simulation::finish_any(Rank& rank, std::int32_t index) {
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    stop_awaiting(rank, at);
  }
  rank.ready.clear();
  return finish_request(rank, index, rank.waiting);
}

void Simulation::stop_awaiting(Rank& rank, std::int32_t index) {
  Request& request = requests_[index];
  if (!request.awaited) return;
  request.awaited = false;
  --rank.awaited;
  Message& message = matcher_.message(request.message);
  const Side other = request.side == kSender ? kReceiver : kSender;
  const std::int32_t theirs = message.request[other];
  message.waited = theirs == kBlockingCall || (theirs >= 0 && requests_[theirs].awaited);
  message.first_waiter = other;
}

// One test for each pending request, in the order of posting.
void Simulation::test_each(Rank& rank) {
  std::vector<Op> ops;
  Op op;
  op.kind = Kind::test;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  for (std::int32_t at = rank.pending_first; at >= 0; at = requests_[at].next) {
    op.bytes = at;
    ops.push_back(op);
  }
  insert(rank, ops);
}

// A test takes the longer the more of them have failed, on whatever rank.
bool Simulation::begin_test(Rank& rank, std::int32_t index) {
  if ((rank.op.flags & kVerdict) != 0) return finish_verdict(rank);
  if (named_request(rank) < 0 && (rank.op.flags & kByNumber) == 0) return true;
  if (model_.test_sleep <= 0) return finish_test(rank, index);
  sleep(index, static_cast<double>(test_sleeps_) * model_.test_sleep, Phase::testing);
  return false;
}

// Whether a test looks at a message; if not, its answer is known at once.
bool Simulation::asks_for_message(Rank& rank) {
  if (rank.op.kind == Kind::testany) return true;
  const std::int32_t found = named_request(rank);
  return found >= 0 && requests_[found].message >= 0;
}

bool Simulation::finish_test(Rank& rank, std::int32_t index) {
  const std::int32_t found = named_request(rank);
  if (found < 0) return true;  // part of a collective, and finished before
  const Request& request = requests_[found];
  if (request.type == RequestType::collective) {
    test_collective(rank, found);
    return true;
  }
  if (!request.complete) {
    if (model_.grow_injected_times) ++test_sleeps_;
    return true;
  }
  const bool part = !request.listed;
  if (part) started_[rank.op.peer].requests[at(rank.op.tag)] = -1;
  if (!finish_request(rank, index, found)) return false;
  test_sleeps_ = 1;
  return true;
}

// Each of a collective's requests is tested, those that are finished too; then comes the verdict.
void Simulation::test_collective(Rank& rank, std::int32_t index) {
  std::vector<Op> ops;
  Op op;
  op.kind = Kind::test;
  op.flags = kContinuation | kByNumber;
  op.line = rank.op.line;
  op.peer = requests_[index].origin;
  op.tag = 0;
  for (const std::int32_t part : started_[op.peer].requests) {
    op.bytes = part;
    ops.push_back(op);
    ++op.tag;
  }
  op.flags |= kVerdict;
  op.bytes = index;
  ops.push_back(op);
  insert(rank, ops);
}

bool Simulation::finish_verdict(Rank& rank) {
  const auto index = static_cast<std::int32_t>(rank.op.bytes);
  for (const std::int32_t part : started_[rank.op.peer].requests) {
    if (part < 0) continue;
    if (model_.grow_injected_times) ++test_sleeps_;
    return true;
  }
  drop_request(rank, index);
  test_sleeps_ = 1;
  return true;
}

// Only requests with a message count; its time has a counter of its own, which always grows.
bool Simulation::test_any(Rank& rank, std::int32_t index) {
  if (first_with_message(rank, false) < 0) return true;
  if (model_.test_sleep <= 0) return finish_test_any(rank, index);
  sleep(index, static_cast<double>(test_any_sleeps_) * model_.test_sleep, Phase::testing);
  return false;
}

bool Simulation::finish_test_any(Rank& rank, std::int32_t index) {
  const std::int32_t found = first_with_message(rank, true);
  if (found < 0) {
    ++test_any_sleeps_;
    return true;
  }
  if (!finish_request(rank, index, found)) return false;
  test_any_sleeps_ = 1;
  return true;
}

}  // namespace tisim
