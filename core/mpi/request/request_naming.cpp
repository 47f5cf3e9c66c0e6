// The numbers that a trace gives to requests, and what names them later.
//
// A number belongs to a request from the line that gives it to the wait that names it. After a
// test, a waitany or a waitsome that named it, nobody but the traced program knows whether the
// request is complete: then the number may be given again, and the request, if it is still pending
// here, goes without.
#include <string>
#include <utility>

#include "mpi/request/request_table.hpp"

namespace tisim {

namespace {
std::string numbered(std::int32_t number) { return "request " + std::to_string(number); }
}  // namespace

// Takes a number away from the pending request that has it.
void RequestTable::detach_number(Rank& rank, std::int32_t index) {
  Request& request = requests_[index];
  if (request.type == RequestType::collective) {
    collectives_[request.origin].number = -1;
    return;
  }
  if (request.type == RequestType::persistent) {
    rank.persistent()[static_cast<std::size_t>(request.origin)].active = false;
    request.type = RequestType::message;
  }
  request.origin = -1;
}

// A number that a new request gets.
NumberedRequest& RequestTable::give_number(Rank& rank, std::int32_t number) {
  NumberedRequest& it = rank.optional_state().numbers[number];
  if (it.pending >= 0) {
    if (!it.may_be_complete) {
      runtime_.jobs.fail(rank, numbered(number) +
                                   " is still pending; wait for it or test it before its number "
                                   "is given to another");
    }
    detach_number(rank, it.pending);
  }
  if (it.persistent >= 0) rank.persistent()[static_cast<std::size_t>(it.persistent)].number = -1;
  it = NumberedRequest{};
  it.given = true;
  return it;
}

void RequestTable::number_last(Rank& rank) {
  const auto number = static_cast<std::int32_t>(rank.op.bytes);
  give_number(rank, number).pending = rank.pending_last;
  Request& request = requests_[rank.pending_last];
  request.origin = number;
}

void RequestTable::number_collective(Rank& rank, std::int32_t number, bool started) {
  NumberedRequest& it = give_number(rank, number);
  if (!started) return;
  it.pending = rank.pending_last;
  collectives_[requests_[rank.pending_last].origin].number = number;
}

void RequestTable::number_persistent(Rank& rank) {
  const auto number = static_cast<std::int32_t>(rank.op.bytes);
  NumberedRequest& it = give_number(rank, number);
  it.persistent = rank.optional->made_persistent;
  rank.persistent()[static_cast<std::size_t>(it.persistent)].number = number;
}

void RequestTable::name_requests(Rank& rank) {
  const Kind kind = rank.op.kind;
  if (kind == Kind::wait || kind == Kind::test) {
    name_request(rank, static_cast<std::int32_t>(rank.op.bytes), kind == Kind::wait);
    return;
  }
  for (const double number : numbers_listed(rank)) {
    name_request(rank, static_cast<std::int32_t>(number), kind == Kind::waitall);
  }
}

NumberedRequest& RequestTable::given(Rank& rank, std::int32_t number) {
  NumberedRequest& it = rank.optional_state().numbers[number];
  if (!it.given) {
    runtime_.jobs.fail(rank, "there is no " + numbered(number) +
                                 "; a number names a request from the line that gives it to the "
                                 "wait for it");
  }
  return it;
}

// A persistent request keeps its number when it is complete.
void RequestTable::name_request(Rank& rank, std::int32_t number, bool waits) {
  NumberedRequest& it = given(rank, number);
  if (!waits) {
    it.may_be_complete = true;
  } else if (it.persistent < 0) {
    it.given = false;
  }
}

// MPI allows neither to cancel a non-blocking collective nor to free its request.
void RequestTable::refuse_collective(const Rank& rank, std::int32_t number,
                                     std::int32_t pending) const {
  if (pending < 0 || requests_[pending].type != RequestType::collective) return;
  runtime_.jobs.fail(
      rank, numbered(number) + " is of a collective; MPI allows only to wait for it or to test it");
}

std::int32_t RequestTable::to_cancel(Rank& rank, std::int32_t number) {
  const NumberedRequest& it = given(rank, number);
  refuse_collective(rank, number, it.pending);
  if (it.pending < 0 && it.persistent >= 0 && !it.may_be_complete) {
    runtime_.jobs.fail(rank, numbered(number) + " is not active; start it before it is cancelled");
  }
  return it.pending;
}

NumberedRequest RequestTable::free_number(Rank& rank, std::int32_t number) {
  NumberedRequest& it = given(rank, number);
  refuse_collective(rank, number, it.pending);
  return std::exchange(it, NumberedRequest{});
}

void RequestTable::free_persistent(Rank& rank, std::int32_t place) {
  PersistentRequest& request = rank.persistent()[static_cast<std::size_t>(place)];
  if (request.number >= 0) rank.optional->numbers[request.number] = NumberedRequest{};
  request = PersistentRequest{};
  request.active = true;
  request.number = rank.optional->free_persistent;
  rank.optional->free_persistent = place;
}

std::int32_t RequestTable::to_start(Rank& rank, std::int32_t number) {
  NumberedRequest& it = rank.optional_state().numbers[number];
  if (it.persistent < 0) {
    runtime_.jobs.fail(rank, numbered(number) +
                                 " is not persistent; a start needs the number that a send_init or "
                                 "recv_init gave");
  }
  if (it.pending >= 0) {
    if (!it.may_be_complete) {
      runtime_.jobs.fail(rank, numbered(number) +
                                   " is still active; wait for it or test it before it is started "
                                   "again");
    }
    detach_number(rank, it.pending);
    it.pending = -1;
  }
  return it.persistent;
}

}  // namespace tisim
