#include "mpi/point_to_point/request_tests.hpp"

#include <vector>

namespace tisim {

void RequestTests::test_each(Rank& rank) {
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

// Only requests with a message count.
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

// If not, the answer of a test is known at once.
bool RequestTests::needs_message_state(Rank& rank) {
  if (rank.op.kind == Kind::testany) return true;
  const std::int32_t found = requests_.named(rank);
  return found >= 0 && requests_[found].message >= 0;
}

bool RequestTests::finish_one(Rank& rank, std::int32_t index) {
  const std::int32_t found = requests_.named(rank);
  if (found < 0) return true;  // part of a collective, and finished before
  const Request& request = requests_[found];
  if (request.type == RequestType::collective) {
    test_collective(rank, found);
    return true;
  }
  if (!request.complete) {
    cost_.test_failed();
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
  if (rank.op.kind == Kind::test || rank.op.kind == Kind::test_last) cost_.test_succeeded();
  if (rank.op.kind == Kind::testany) cost_.test_any_succeeded();
}

// Each of a collective's requests is tested, those that are finished too; one more operation ends
// the test.
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
