#include "trace/walk/rank_requests.hpp"

#include <utility>

#include "support/mixing.hpp"

namespace tisim {

void RankRequests::take(const RankWalk& walk) {
  messages_.clear();
  problems_.clear();
  cancelled_.reset();
  const Op& op = walk.op();
  const KindTraits& traits = traits_of(op.kind);
  const auto number = static_cast<std::int32_t>(op.bytes);
  const bool numbered = (op.flags & kNumbered) != 0;
  switch (traits.role) {
    case Role::send:
    case Role::receive:
    case Role::exchange:
    case Role::receive_half:
      post_message(walk);
      break;
    case Role::make_persistent:
      make_persistent(walk);
      break;
    case Role::number_request:
      assign_number(number, list_.last, -1);
      break;
    case Role::number_persistent:
      assign_number(number, -1, made_persistent_);
      break;
    case Role::start:
      numbered ? start_number(walk, number) : start_named(walk);
      break;
    case Role::file:
      if (!file_traits_of(file_call_of(op)).makes_request) break;
      post(walk, Request{}, {walk.group().rank, op.peer, kUnnamedRequestTag}, op.comm);
      break;
    case Role::window:
      if (!window_traits_of(window_call_of(op)).makes_request) break;
      post(walk, Request{}, {walk.group().rank, op.peer, kUnnamedRequestTag}, op.comm);
      break;
    case Role::collective:
      if (!traits.makes_request) break;
      post(walk, Request{.type = RequestType::collective},
           {.tag = traits_of(walk.operation()).request_tag}, op.comm);
      if (numbered) assign_number(op.tag, list_.last, -1);
      break;
    case Role::complete_one:
      numbered ? complete_number(number, traits.blocks) : complete_named(walk, traits.blocks);
      break;
    case Role::complete_collective:
      complete_collective(walk);
      break;
    case Role::complete_last:
      if (!traits.blocks) {
        tested_ = list_.order;
      } else if (list_.last >= 0) {
        complete(list_.last);
      } else {
        problems_.push_back({Fault::none_pending});
      }
      break;
    case Role::start_all:
      if (numbered) {
        for (const double argument : walk.call().arguments) {
          start_number(walk, static_cast<std::int32_t>(argument));
        }
        break;
      }
      for (std::int32_t place = 0; std::cmp_less(place, persistent_.size()); ++place) {
        if (!persistent_[static_cast<std::size_t>(place)].request.active) start(walk, place);
      }
      break;
    case Role::complete_all:
    case Role::complete_any:
    case Role::complete_some:
      if (numbered) {
        const bool waits = traits.blocks && traits.role == Role::complete_all;
        for (const double argument : walk.call().arguments) {
          complete_number(static_cast<std::int32_t>(argument), waits);
        }
      } else if (traits.blocks && traits.role == Role::complete_all) {
        while (list_.first >= 0) complete(list_.first);
      } else if (traits.blocks && traits.role == Role::complete_any) {
        ++unidentified_completions_;
      } else {
        tested_ = list_.order;
      }
      break;
    case Role::cancel:
      cancel(walk);
      break;
    case Role::free_request:
      free(walk);
      break;
    case Role::end:
    case Role::nothing:
    case Role::compute:
    case Role::sleep:
    case Role::threads:
    case Role::probe:
    case Role::make_communicator:
    case Role::free_communicator:
    case Role::file_offset:
    case Role::launch:
    case Role::custom:
      break;
  }
}

std::int32_t RankRequests::post(const RankWalk& walk, const Request& like, const RequestKey& key,
                                std::uint16_t comm) {
  const std::int32_t index = requests_.acquire();
  Request& request = requests_[index];
  request = like;
  request.message = static_cast<std::int32_t>(walk.op().line);
  request.order = list_.order++;
  requests_.list(list_, 0, index, key, comm);
  return index;
}

void RankRequests::post_message(const RankWalk& walk) {
  const Op& op = walk.op();
  describe_message(walk, op, walk.group());
  const KindTraits& traits = traits_of(op.kind);
  if (!traits.makes_request) return;
  const std::int32_t me = walk.group().rank;
  post(walk,
       Request{.side = traits.receives ? kReceiver : kSender,
               .source_lost = (op.flags & kSourceLost) != 0},
       {traits.receives ? op.peer : me, traits.receives ? me : op.peer, op.tag}, op.comm);
}

// Adds the message of an operation or of the persistent request that it starts.
void RankRequests::describe_message(const RankWalk& walk, const Op& op,
                                    const CommunicatorView& group) {
  if (group.group == kNoGroup || op.peer == kProcNull) return;
  const bool receives = traits_of(op.kind).receives;
  messages_.push_back(
      {{group.group, receives ? group.rank : op.peer, receives ? op.peer : group.rank, op.tag},
       receives,
       op.bytes,
       walk.op().line});
}

// Persistent requests.

void RankRequests::make_persistent(const RankWalk& walk) {
  has_persistent_ = true;
  made_persistent_ = free_persistent_;
  if (made_persistent_ < 0) {
    made_persistent_ = static_cast<std::int32_t>(persistent_.size());
    persistent_.emplace_back();
  }
  Persistent& made = persistent_[static_cast<std::size_t>(made_persistent_)];
  if (free_persistent_ >= 0) free_persistent_ = made.request.number;
  made = {.request = {.op = walk.op()}, .group = walk.group()};
}

void RankRequests::free_persistent(std::int32_t place) {
  Persistent& freed = persistent_[static_cast<std::size_t>(place)];
  freed = {};
  freed.request.active = true;
  freed.request.number = std::exchange(free_persistent_, place);
}

// The first inactive request with that key. If all are active, a test or a waitany has completed
// one of them: probably the one started first. -1: none.
std::int32_t RankRequests::find_startable(const Op& key, std::int32_t me) const {
  std::int32_t oldest = -1;
  for (std::int32_t place = 0; std::cmp_less(place, persistent_.size()); ++place) {
    const Persistent& candidate = persistent_[static_cast<std::size_t>(place)];
    if (candidate.request.op.kind == Kind::end || !candidate.request.has_key(key, me)) continue;
    if (!candidate.request.active) return place;
    const auto order = [this](std::int32_t at) {
      return requests_[persistent_[static_cast<std::size_t>(at)].pending].order;
    };
    if (oldest < 0 || order(place) < order(oldest)) oldest = place;
  }
  return oldest;
}

void RankRequests::start(const RankWalk& walk, std::int32_t place) {
  Persistent& made = persistent_[static_cast<std::size_t>(place)];
  const Op& op = made.request.op;
  const bool receives = traits_of(op.kind).receives;
  if (made.pending >= 0) {
    requests_[made.pending].type = RequestType::message;
    requests_[made.pending].origin = -1;
  }
  made.request.active = true;
  made.pending = post(
      walk,
      Request{
          .origin = place, .side = receives ? kReceiver : kSender, .type = RequestType::persistent},
      {receives ? op.peer : made.group.rank, receives ? made.group.rank : op.peer, op.tag},
      op.comm);
  if (made.request.number >= 0) {
    NumberedRequest& numbered = numbers_[made.request.number];
    numbered.pending = made.pending;
    numbered.may_be_complete = false;
  }
  describe_message(walk, op, made.group);
}

// An unknown one, as in a trace that begins later, is pending nevertheless.
void RankRequests::start_named(const RankWalk& walk) {
  const Op& op = walk.op();
  const std::int32_t me = walk.group().rank;
  const std::int32_t place = find_startable(op, me);
  if (place >= 0) {
    start(walk, place);
    return;
  }
  const auto destination = static_cast<std::int32_t>(op.bytes);
  post(walk, Request{.side = destination == me ? kReceiver : kSender},
       {op.peer, destination, op.tag}, op.comm);
}

void RankRequests::start_number(const RankWalk& walk, std::int32_t number) {
  const NumberedRequest numbered = numbers_[number];
  if (numbered.persistent < 0) {
    problems_.push_back({Fault::not_persistent, number});
    return;
  }
  if (numbered.pending >= 0) {
    if (!may_be_complete(numbered)) {
      problems_.push_back({Fault::still_active, number, line_of(requests_[numbered.pending])});
    }
    complete(numbered.pending);
  }
  start(walk, numbered.persistent);
}

// Waits and tests.

// Removes the request from the pending ones.
void RankRequests::complete(std::int32_t index) {
  const Request& request = requests_[index];
  std::int32_t number = request.origin;
  if (request.type == RequestType::persistent) {
    Persistent& made = persistent_[static_cast<std::size_t>(request.origin)];
    number = made.request.number;
    made.request.active = false;
    made.pending = -1;
  }
  if (number >= 0) numbers_[number].pending = -1;
  requests_.unlist(list_, 0, index);
  requests_.release(index);
}

// For a persistent receive written by SimGrid's tracer, only the wait knows the source.
std::int32_t RankRequests::named_request(const RankWalk& walk) {
  Op op = walk.op();
  const std::int32_t request = requests_.named(list_, 0, &numbers_, op);
  if (request >= 0 || (op.flags & kNumbered) != 0) return request;
  op.peer = kAnySource;
  return requests_.named(list_, 0, &numbers_, op);
}

void RankRequests::complete_named(const RankWalk& walk, bool waits) {
  const std::int32_t request = named_request(walk);
  if (request < 0) {
    if (waits && unidentified_completions_ == 0) problems_.push_back({Fault::not_pending});
  } else if (waits) {
    complete(request);
  } else {
    requests_[request].complete = true;
  }
}

// Completes the oldest one if none has SimGrid's tag for the kind.
void RankRequests::complete_collective(const RankWalk& walk) {
  std::int32_t request = requests_.find_collective(list_, walk.op());
  for (std::int32_t at = list_.first; at >= 0 && request < 0; at = requests_.next(at)) {
    if (requests_[at].type == RequestType::collective) request = at;
  }
  if (request >= 0) complete(request);
}

// Requests by number.

// The number of a possibly complete request may be assigned again.
void RankRequests::assign_number(std::int32_t number, std::int32_t pending,
                                 std::int32_t persistent) {
  NumberedRequest& numbered = numbers_[number];
  if (numbered.pending >= 0) {
    if (!may_be_complete(numbered)) {
      problems_.push_back({Fault::still_pending, number, line_of(requests_[numbered.pending])});
    }
    complete(numbered.pending);
  }
  if (numbered.persistent >= 0) {
    persistent_[static_cast<std::size_t>(numbered.persistent)].request.number = -1;
  }
  numbered = {.pending = pending, .persistent = persistent, .given = true};
  if (pending >= 0) requests_[pending].origin = number;
  if (persistent >= 0) persistent_[static_cast<std::size_t>(persistent)].request.number = number;
}

bool RankRequests::is_given(std::int32_t number) {
  if (numbers_[number].given) return true;
  problems_.push_back({Fault::unknown_number, number});
  return false;
}

// A wait or test names the number. A persistent request keeps its number when complete.
void RankRequests::complete_number(std::int32_t number, bool waits) {
  if (!is_given(number)) return;
  NumberedRequest& numbered = numbers_[number];
  if (!waits) {
    numbered.may_be_complete = true;
    if (numbered.pending >= 0) requests_[numbered.pending].complete = true;
    return;
  }
  numbered.given = numbered.persistent >= 0;
  if (numbered.pending >= 0) complete(numbered.pending);
}

bool RankRequests::may_be_complete(const Request& request) const {
  return request.complete || request.order < tested_;
}

// True if a test or waitany, of this number or of all pending requests, may have completed it.
bool RankRequests::may_be_complete(const NumberedRequest& numbered) const {
  return numbered.may_be_complete || unidentified_completions_ > 0 ||
         (numbered.pending >= 0 && may_be_complete(requests_[numbered.pending]));
}

// Cancelled and freed requests.

bool RankRequests::is_of_collective(std::int32_t number, std::int32_t pending) {
  if (pending < 0 || requests_[pending].type != RequestType::collective) return false;
  problems_.push_back({Fault::of_a_collective, number});
  return true;
}

void RankRequests::cancel(const RankWalk& walk) {
  const Op& op = walk.op();
  const std::int32_t index = requests_.named(list_, 0, &numbers_, op);
  if ((op.flags & kNumbered) != 0) {
    const auto number = static_cast<std::int32_t>(op.bytes);
    if (!is_given(number) || is_of_collective(number, index)) return;
    if (index < 0 && numbers_[number].persistent >= 0) {
      problems_.push_back({Fault::not_active, number});
    }
  }
  if (index < 0 || requests_[index].type == RequestType::collective) return;
  const Request& request = requests_[index];
  const std::uint32_t group = walk.group_of(request.comm).group;
  const RequestKey& key = requests_.key(index);
  if (group == kNoGroup || key.source == kProcNull || key.destination == kProcNull) return;
  cancelled_ = {.channel = {group, key.destination, key.source, key.tag},
                .is_receive = request.side == kReceiver,
                .line = op.line};
}

void RankRequests::free(const RankWalk& walk) {
  const Op& op = walk.op();
  std::int32_t pending = requests_.named(list_, 0, &numbers_, op);
  std::int32_t persistent = -1;
  if ((op.flags & kNumbered) != 0) {
    const auto number = static_cast<std::int32_t>(op.bytes);
    if (!is_given(number) || is_of_collective(number, pending)) return;
    persistent = numbers_[number].persistent;
    if (pending >= 0) complete(pending);
    numbers_[number] = {};
  } else if (pending >= 0) {
    if (requests_[pending].type == RequestType::persistent) persistent = requests_[pending].origin;
    complete(pending);
  } else {
    persistent = find_startable(op, walk.group().rank);
    if (persistent < 0 && unidentified_completions_ == 0 && !has_persistent_) {
      problems_.push_back({Fault::free_of_unknown});
    }
  }
  if (persistent < 0) return;
  const std::int32_t number = persistent_[static_cast<std::size_t>(persistent)].request.number;
  if (number >= 0) numbers_[number] = {};
  free_persistent(persistent);
}

// The state at the end, and between two repetitions of a loop.

std::vector<std::uint32_t> RankRequests::pending_lines() const {
  std::vector<std::uint32_t> lines;
  for_each_pending([&](const Request& request) {
    if (may_be_complete(request)) return;
    const bool has_number =
        request.type == RequestType::persistent
            ? persistent_[static_cast<std::size_t>(request.origin)].request.number >= 0
            : request.origin >= 0;
    if (!has_number || unidentified_completions_ == 0) lines.push_back(line_of(request));
  });
  return lines;
}

std::uint64_t RankRequests::signature(const LoopLines& lines) const {
  std::uint64_t hash = unidentified_completions_ > 0 ? 1 : 0;
  const auto mix = [&hash](auto value) { hash = mixed(hash, static_cast<std::uint64_t>(value)); };
  for (std::int32_t at = list_.first; at >= 0; at = requests_.next(at)) {
    const Request& request = requests_[at];
    const RequestKey& key = requests_.key(at);
    mix(request.comm);
    mix(key.source);
    mix(key.destination);
    mix(key.tag);
    mix(request.origin);
    mix(lines.relative(line_of(request)));
    mix(4 * static_cast<int>(request.type) + (request.complete ? 2 : 0) +
        (request.order < tested_ ? 1 : 0));
  }
  numbers_.for_each([&](std::int32_t number, const NumberedRequest& numbered) {
    if (!numbered.given && numbered.pending < 0) return;
    mix(number);
    mix((numbered.given ? 4 : 0) + (numbered.pending >= 0 ? 2 : 0) +
        (numbered.pending >= 0 && numbered.may_be_complete ? 1 : 0));
    mix(numbered.persistent);
  });
  for (const Persistent& made : persistent_) {
    mix(static_cast<int>(made.request.op.kind));
    mix(made.request.op.comm);
    mix(made.request.op.peer);
    mix(made.request.op.tag);
    mix(made.request.op.bytes);
    mix(made.group.group);
    mix(made.request.number);
    mix(made.request.active);
  }
  return hash;
}

void RankRequests::skip(const SkippedLines& skipped, std::uint64_t further_completions) {
  for (std::int32_t at = list_.first; at >= 0; at = requests_.next(at)) {
    Request& request = requests_[at];
    request.message = static_cast<std::int32_t>(skipped.moved(line_of(request)));
  }
  unidentified_completions_ += further_completions;
}

}  // namespace tisim
