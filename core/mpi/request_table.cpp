#include "mpi/request_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

void RequestTable::add(Rank& rank, Side side, std::int32_t message) {
  const Op& op = rank.op;
  const Role role = role_of(op.kind);
  const bool is_awaited_at_once = role == Role::exchange || role == Role::receive_half;
  if (rank.schedule >= 0 && rank.collective.kind == Kind::collective && !is_awaited_at_once) {
    return hold(rank, side, message);
  }
  const std::int32_t index = requests_.acquire();
  Request& request = requests_[index];
  request.message = message;
  request.side = side;
  request.order = rank.pending.order++;
  request.complete = message < 0 || matcher_.message(message).arrived;
  if (message >= 0) matcher_.message(message).request[side] = index;
  if (is_awaited_at_once) {
    await(rank, index);
  } else if (rank.schedule >= 0) {
    rank.slots[op.line] = index;
  } else {
    const std::int32_t me = communicators_.number_in(rank, op.comm);
    request.source_lost = (op.flags & kSourceLost) != 0;
    if (rank.starting >= 0) {
      request.type = RequestType::persistent;
      request.origin = rank.starting;
      const std::int32_t number = rank.persistent()[static_cast<std::size_t>(rank.starting)].number;
      if (number >= 0) {
        NumberedRequest& numbered = rank.optional->numbers[number];
        numbered.pending = index;
        numbered.may_be_complete = false;
      }
      rank.starting = -1;
    }
    const bool sends = side == kSender;
    list(rank, index, {sends ? me : op.peer, sends ? op.peer : me, op.tag});
  }
}

void RequestTable::hold(Rank& rank, Side side, std::int32_t index) {
  const std::uint32_t order = rank.pending.order++;
  if (index < 0) return;  // complete: its slot stays empty
  Message& message = matcher_.message(index);
  message.request[side] = static_cast<std::int32_t>(order);
  message.holds_request = (message.holds_request | 1U << side) & 3;
  rank.slots[rank.op.line] = held(index, side);
}

void RequestTable::add_unnamed(Rank& rank, Side side, std::int32_t message) {
  const std::int32_t index = requests_.acquire();
  Request& request = requests_[index];
  request.message = message;
  request.order = rank.pending.order++;
  request.side = side;
  request.complete = message < 0 || matcher_.message(message).arrived;
  if (message >= 0) matcher_.message(message).request[side] = index;
  if (rank.schedule >= 0) {
    rank.slots[rank.op.line] = index;
  } else {
    list(rank, index, {rank.number, rank.op.peer, kUnnamedRequestTag});
  }
}

std::int32_t RequestTable::add_of_window(std::int32_t message) {
  const std::int32_t index = requests_.acquire();
  Request& request = requests_[index];
  request.message = message;
  request.type = RequestType::window;
  request.side = kReceiver;
  request.complete = matcher_.message(message).arrived;
  matcher_.message(message).request[kReceiver] = index;
  return index;
}

void RequestTable::await_of_window(Rank& rank, std::int32_t index, std::int32_t request) {
  requests_[request].order = rank.pending.order++;
  requests_[request].origin = index;
  await(rank, request);
}

void RequestTable::add_collective(Rank& rank, std::int32_t tag,
                                  std::span<const std::int32_t> parts) {
  const std::int32_t index = requests_.acquire();
  Request& request = requests_[index];
  request.type = RequestType::collective;
  request.order = rank.pending.order++;
  request.complete = true;
  request.origin = collectives_.acquire();
  collectives_[request.origin].requests.assign(parts.begin(), parts.end());
  list(rank, index, {.tag = tag});
}

std::int32_t RequestTable::add_rounds(Rank& rank, std::int32_t tag, Rounds rounds) {
  add_collective(rank, tag, {});
  rounds.request = rank.pending.last;
  Request& request = requests_[rounds.request];
  request.complete = false;
  collectives_[request.origin].rounds = std::make_unique<Rounds>(std::move(rounds));
  return request.origin;
}

bool RequestTable::take_into_round(std::int32_t index, std::int32_t collective) {
  Request& request = requests_[index];
  request.type = RequestType::round;
  request.origin = collective;
  ++collectives_[collective].rounds->left;
  if (!request.complete) return true;
  leave_round(index);
  return false;
}

// The message of a request in a round is complete.
void RequestTable::leave_round(std::int32_t index) {
  const Request request = requests_[index];
  if (request.message >= 0 && request.side == kReceiver) {
    const Message& message = matcher_.message(request.message);
    if (message.detached) {
      collectives_[request.origin].rounds->received.push_back(message.bytes);
    }
  }
  requests_.release(index);
  count_down(request.origin);
}

void RequestTable::count_down(std::int32_t collective) {
  if (--collectives_[collective].rounds->left > 0) return;
  Rank& rank = runtime_.ranks[collectives_[collective].rounds->rank];
  if (makes_progress(rank.phase)) {
    runtime_.clock.agenda().push(runtime_.clock.now(), EventType::round, collective);
  } else {
    rank.optional_state().due.push_back(collective);
  }
}

void RequestTable::begin_due_rounds(OptionalRankState& state) {
  for (const std::int32_t collective : state.due) {
    runtime_.clock.agenda().push(runtime_.clock.now(), EventType::round, collective);
  }
  state.due.clear();
}

void RequestTable::end_rounds(std::int32_t collective) {
  const std::unique_ptr<Rounds> rounds = std::move(collectives_[collective].rounds);
  Rank& rank = runtime_.ranks[rounds->rank];
  requests_[rounds->request].complete = true;
  if (!requests_[rounds->request].awaited) return;
  push_complete(rank, rounds->request);
  if (wake_awaiting(rank, rounds->request)) runtime_.clock.wake(rounds->rank);
}

// Returns the request index given by an operation; -1 for one completed before.
std::int32_t RequestTable::by_index(const Op& op) const {
  if (op.bytes < -1 || op.bytes >= static_cast<std::int64_t>(requests_.capacity())) {
    throw std::out_of_range("no request has the number that a wait or test names");
  }
  return static_cast<std::int32_t>(op.bytes);
}

std::int32_t RequestTable::named(Rank& rank) {
  const Op& op = rank.op;
  if ((op.flags & kByNumber) != 0) return by_index(op);
  const RequestNumbers* const numbers = rank.optional ? &rank.optional->numbers : nullptr;
  return requests_.named(rank.pending, rank.first + rank.number, numbers, op);
}

bool RequestTable::is_pending_message(const Rank& rank, std::int32_t index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= requests_.capacity()) return false;
  const Request& request = requests_[index];
  if (!request.listed || request.type != RequestType::message || request.comm != 0) return false;
  // The key has ranks of the job; those of another job may have the same numbers.
  if (request.message >= 0) {
    const Message& message = matcher_.message(request.message);
    const std::int32_t owner = request.side == kSender ? message.source : message.destination;
    return owner == rank.first + rank.number;
  }
  std::int32_t at = rank.pending.first;
  while (at >= 0 && at != index) at = requests_.next(at);
  return at == index;
}

void RequestTable::drop(Rank& rank, std::int32_t index) {
  if (requests_[index].listed) unlist(rank, index);
  requests_.release(index);
}

Request RequestTable::take(Rank& rank, std::int32_t index) {
  if (!is_held(index)) {
    const Request request = requests_[index];
    drop(rank, index);
    return request;
  }
  Request request;
  request.message = message_of(index);
  request.side = side_of(index);
  Message& message = matcher_.message(request.message);
  const unsigned others = ~(1U << request.side);
  message.holds_request = (message.holds_request & others) & 3;
  message.awaited = (message.awaited & others) & 3;
  message.request[request.side] = kNoRequest;
  return request;
}

// Removes the request from the pending ones.
void RequestTable::unlist(Rank& rank, std::int32_t index) {
  const Request& request = requests_[index];
  if (request.origin >= 0) forget_origin(rank, request);
  requests_.unlist(rank.pending, rank.first + rank.number, index);
}

// Detaches a finished listed request from its origin: a persistent request, a collective or a
// number.
void RequestTable::forget_origin(Rank& rank, const Request& request) {
  std::int32_t number = request.origin;
  if (request.type == RequestType::persistent) {
    PersistentRequest& persistent = rank.persistent()[static_cast<std::size_t>(request.origin)];
    persistent.active = false;
    number = persistent.number;
  } else if (request.type == RequestType::collective) {
    number = collectives_[request.origin].number;
    collectives_[request.origin].number = -1;
    collectives_.release(request.origin);
  }
  if (number >= 0) rank.optional->numbers[number].pending = -1;
}

void RequestTable::await(Rank& rank, std::int32_t index) {
  if (is_held(index)) return await_held(rank, index);
  Request& request = requests_[index];
  if (request.message < 0 && request.complete) {
    drop(rank, index);
    return;
  }
  request.awaited = true;
  ++rank.awaited;
  if (request.complete) {
    push_complete(rank, index);
    return;
  }
  if (request.message < 0) return;  // a collective with rounds
  register_wait(request.message, request.side);
}

void RequestTable::await_held(Rank& rank, std::int32_t index) {
  const std::int32_t found = message_of(index);
  const Side side = side_of(index);
  Message& message = matcher_.message(found);
  message.awaited = (message.awaited | 1U << side) & 3;
  ++rank.awaited;
  if (message.is_complete(side)) {
    push_complete(rank, index);
  } else {
    register_wait(found, side);
  }
}

void RequestTable::register_wait(std::int32_t index, Side side) {
  Message& message = matcher_.message(index);
  if (message.waited) return;
  message.waited = true;
  message.first_waiter = side;
}

bool RequestTable::is_awaited(const Message& message, Side side) const {
  if (message.holds(side)) return (message.awaited >> side & 1) != 0;
  const std::int32_t request = message.request[side];
  return request == kBlockingCall || (request >= 0 && requests_[request].awaited);
}

void RequestTable::stop_awaiting(Rank& rank, std::int32_t index) {
  Request& request = requests_[index];
  if (!request.awaited) return;
  request.awaited = false;
  --rank.awaited;
  if (request.message < 0) return;
  Message& message = matcher_.message(request.message);
  const Side other = request.side == kSender ? kReceiver : kSender;
  const bool is_gone = message.sent && other == kSender;
  message.waited = !is_gone && is_awaited(message, other);
  message.first_waiter = other;
}

void RequestTable::push_complete(Rank& rank, std::int32_t request) {
  rank.ready.push_back(request);
  std::push_heap(rank.ready.begin(), rank.ready.end(), posted_later());
}

std::int32_t RequestTable::take_complete(Rank& rank) {
  if (rank.ready.empty()) return -1;
  std::pop_heap(rank.ready.begin(), rank.ready.end(), posted_later());
  const std::int32_t found = rank.ready.back();
  rank.ready.pop_back();
  --rank.awaited;
  return found;
}

bool RequestTable::complete(std::int32_t index, std::int32_t owner) {
  Request& request = requests_[index];
  request.complete = true;
  if (!request.awaited) {
    if (request.type == RequestType::round) {
      leave_round(index);
      return true;
    }
    if (!request.freed) return false;
    unlink_freed(runtime_.ranks[owner], index);
    requests_.release(index);
    return true;
  }
  const std::int32_t message = request.message;
  if (request.type == RequestType::window) owner = request.origin;
  Rank& rank = runtime_.ranks[owner];
  push_complete(rank, index);
  if (wake_awaiting(rank, index)) runtime_.wake_by(message, owner);
  return false;
}

void RequestTable::complete_held(std::int32_t index, Side side) {
  const Message& message = matcher_.message(index);
  if (!is_awaited(message, side)) return;
  const std::int32_t owner = side == kSender ? message.source : message.destination;
  Rank& rank = runtime_.ranks[owner];
  push_complete(rank, held(index, side));
  if (wake_awaiting(rank, held(index, side))) runtime_.wake_by(index, owner);
}

// Records that an awaited request is complete. Returns true if the rank continues.
bool RequestTable::wake_awaiting(Rank& rank, std::int32_t index) {
  if (rank.phase == Phase::waiting_any) {
    rank.phase = Phase::completing_any;
    rank.waiting = index;
    return true;
  }
  if (rank.phase != Phase::waiting_all) return false;
  rank.phase = Phase::completing_all;
  return true;
}

void RequestTable::verify() const {
  ensure(requests_.is_consistent() && collectives_.is_consistent(), "a request is released once");
  for (const Rank& rank : runtime_.ranks.all()) {
    verify(rank);
    verify_freed(rank);
  }
  const std::vector<bool> free = requests_.free_numbers();
  std::size_t collectives = 0;
  for (std::size_t at = 0; at < free.size(); ++at) {
    const Request& request = requests_[static_cast<std::int32_t>(at)];
    if (free[at]) continue;
    collectives += request.type == RequestType::collective ? 1 : 0;
    if (request.message < 0) continue;
    const Message& message = matcher_.message(request.message);
    ensure(message.request[request.side] == static_cast<std::int32_t>(at),
           "a message links to its request");
    ensure(request.complete == (message.arrived || (message.sent && request.side == kSender)),
           "a request is complete when its message has arrived");
  }
  ensure(collectives == collectives_.in_use(), "a started collective has one request");
}

void RequestTable::verify(const Rank& rank) const {
  std::int32_t last = -1;
  std::int32_t collectives = 0;
  std::int32_t awaited = 0;
  std::size_t count = 0;
  for (std::int32_t at = rank.pending.first; at >= 0; last = at, at = requests_.next(at)) {
    const Request& request = requests_[at];
    ensure(++count <= requests_.in_use(), "the list of pending requests has an end");
    ensure(request.listed && requests_.previous(at) == last,
           "the list of pending requests is doubly linked");
    ensure(last < 0 || static_cast<std::int32_t>(request.order - requests_[last].order) > 0,
           "pending requests are listed in posting order");
    collectives += request.type == RequestType::collective ? 1 : 0;
    awaited += request.awaited ? 1 : 0;
    if (request.type == RequestType::message && request.origin >= 0) {
      ensure(pending_of(rank, request.origin) == at, "a request number maps to its request");
    }
    if (request.type != RequestType::persistent) continue;
    ensure(rank.persistent()[static_cast<std::size_t>(request.origin)].active,
           "a pending persistent request is active");
  }
  ensure(last == rank.pending.last, "the list of pending requests ends with its last entry");
  ensure(collectives == rank.pending.collectives, "pending collectives are counted");
  ensure(awaited <= rank.awaited, "awaited requests are counted");
  ensure(std::is_heap(rank.ready.begin(), rank.ready.end(), posted_later()),
         "complete requests are a heap by posting order");
  ensure(rank.ready.size() <= static_cast<std::size_t>(rank.awaited),
         "complete requests are awaited");
  for (const std::int32_t at : rank.ready) {
    if (is_held(at)) {
      const Message& message = matcher_.message(message_of(at));
      ensure(is_awaited(message, side_of(at)) && message.holds(side_of(at)) &&
                 message.is_complete(side_of(at)),
             "complete requests are awaited");
      continue;
    }
    ensure(requests_[at].awaited && requests_[at].complete, "complete requests are awaited");
  }
}

// The numbers that a trace gives to requests, and the calls that name them later.
//
// A number belongs to a request from the line that gives it to the wait that names it. After a
// test, waitany or waitsome, only the traced program knows whether the request is complete: the
// number may then be given again, and the request, if still pending here, loses it.

namespace {
std::string numbered(std::int32_t number) { return "request " + std::to_string(number); }
}  // namespace

// Detaches a number from its pending request.
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

// Gives a number to a new request.
NumberedRequest& RequestTable::give_number(Rank& rank, std::int32_t number) {
  NumberedRequest& it = rank.optional_state().numbers[number];
  if (it.pending >= 0) {
    if (!it.may_be_complete) {
      runtime_.jobs.fail(rank, numbered(number) +
                                   " is still pending; wait for it or test it before reusing its "
                                   "number");
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
  give_number(rank, number).pending = rank.pending.last;
  Request& request = requests_[rank.pending.last];
  request.origin = number;
}

void RequestTable::number_collective(Rank& rank, std::int32_t number, bool started) {
  NumberedRequest& it = give_number(rank, number);
  if (!started) return;
  it.pending = rank.pending.last;
  collectives_[requests_[rank.pending.last].origin].number = number;
}

void RequestTable::number_persistent(Rank& rank) {
  const auto number = static_cast<std::int32_t>(rank.op.bytes);
  NumberedRequest& it = give_number(rank, number);
  it.persistent = rank.optional->made_persistent;
  rank.persistent()[static_cast<std::size_t>(it.persistent)].number = number;
}

void RequestTable::name_requests(Rank& rank) {
  const KindTraits& traits = traits_of(rank.op.kind);
  if (traits.role == Role::complete_one) {
    name_request(rank, static_cast<std::int32_t>(rank.op.bytes), traits.blocks);
    return;
  }
  const bool waits = traits.blocks && traits.role == Role::complete_all;
  for (const double number : numbers_listed(rank)) {
    name_request(rank, static_cast<std::int32_t>(number), waits);
  }
}

NumberedRequest& RequestTable::given(Rank& rank, std::int32_t number) {
  NumberedRequest& it = rank.optional_state().numbers[number];
  if (!it.given) {
    runtime_.jobs.fail(rank, "no " + numbered(number) +
                                 "; a number is valid from the line that assigns it to the "
                                 "wait for it");
  }
  return it;
}

// A persistent request keeps its number after completion.
void RequestTable::name_request(Rank& rank, std::int32_t number, bool waits) {
  NumberedRequest& it = given(rank, number);
  if (!waits) {
    it.may_be_complete = true;
  } else if (it.persistent < 0) {
    it.given = false;
  }
}

// MPI forbids cancelling a non-blocking collective and freeing its request.
void RequestTable::refuse_collective(const Rank& rank, std::int32_t number,
                                     std::int32_t pending) const {
  if (pending < 0 || requests_[pending].type != RequestType::collective) return;
  runtime_.jobs.fail(
      rank, numbered(number) + " is of a collective; MPI only allows waiting for it or testing it");
}

std::int32_t RequestTable::find_cancellable(Rank& rank, std::int32_t number) {
  const NumberedRequest& it = given(rank, number);
  refuse_collective(rank, number, it.pending);
  if (it.pending < 0 && it.persistent >= 0 && !it.may_be_complete) {
    runtime_.jobs.fail(rank, numbered(number) + " is not active; start it before cancelling it");
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

std::int32_t RequestTable::find_startable(Rank& rank, std::int32_t number) {
  NumberedRequest& it = rank.optional_state().numbers[number];
  if (it.persistent < 0) {
    runtime_.jobs.fail(rank, numbered(number) +
                                 " is not persistent; a start needs the number of a send_init or "
                                 "recv_init gave");
  }
  if (it.pending >= 0) {
    if (!it.may_be_complete) {
      runtime_.jobs.fail(rank, numbered(number) +
                                   " is still active; wait for it or test it before starting it "
                                   "again");
    }
    detach_number(rank, it.pending);
    it.pending = -1;
  }
  return it.persistent;
}

// Requests freed by MPI_Request_free: no call can name them, and they are released when their
// message ends.

bool RequestTable::free_pending(Rank& rank, std::int32_t index) {
  unlist(rank, index);
  Request& request = requests_[index];
  const bool has_message = request.message >= 0;
  if (!has_message || request.complete) {
    requests_.release(index);
    return has_message;
  }
  OptionalRankState& state = rank.optional_state();
  request.type = RequestType::message;
  request.origin = -1;
  request.freed = true;
  Listing& place = requests_.listing(index);
  place.previous = -1;
  place.next = state.freed_first;
  if (place.next >= 0) requests_.listing(place.next).previous = index;
  state.freed_first = index;
  return false;
}

void RequestTable::unlink_freed(Rank& rank, std::int32_t index) {
  const Listing& place = requests_.listing(index);
  (place.previous >= 0 ? requests_.listing(place.previous).next : rank.optional->freed_first) =
      place.next;
  if (place.next >= 0) requests_.listing(place.next).previous = place.previous;
  requests_[index].freed = false;
}

void RequestTable::list_freed(Rank& rank) {
  if (!rank.optional) return;
  for (std::int32_t at = rank.optional->freed_first; at >= 0; at = rank.optional->freed_first) {
    unlink_freed(rank, at);
    requests_[at].order = rank.pending.order++;
    const RequestKey key = requests_.key(at);
    list(rank, at, key);
  }
}

void RequestTable::verify_freed(const Rank& rank) const {
  if (!rank.optional) return;
  std::int32_t last = -1;
  std::size_t count = 0;
  for (std::int32_t at = rank.optional->freed_first; at >= 0; last = at, at = requests_.next(at)) {
    const Request& request = requests_[at];
    ensure(++count <= requests_.in_use(), "the list of freed requests has an end");
    ensure(request.freed && !request.listed && requests_.previous(at) == last,
           "the list of freed requests is doubly linked");
    ensure(request.message >= 0 && !request.complete && !request.awaited,
           "freed requests have messages in flight");
  }
}

}  // namespace tisim
