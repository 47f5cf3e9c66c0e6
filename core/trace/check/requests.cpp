#include "trace/check/requests.hpp"

#include <algorithm>

#include "support/mixing.hpp"

namespace tisim {

std::size_t Requests::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = static_cast<std::uint32_t>(key.source);
  hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(key.destination);
  hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::uint32_t>(key.tag);
  hash = hash * 0x9e3779b97f4a7c15U + key.comm;
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

void Requests::take(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  const std::int32_t me = walk.group().rank;
  if ((op.flags & kNumbered) != 0 && op.kind != Kind::nop) {
    take_numbered(walk, findings);
    return;
  }
  switch (op.kind) {
    case Kind::number_request:
    case Kind::number_persistent:
      give(walk, static_cast<std::int32_t>(op.bytes), findings);
      break;
    case Kind::send_init:
    case Kind::ssend_init:
    case Kind::bsend_init:
      last_made_ = {op.comm, me, op.peer, op.tag};
      last_made_receives_ = false;
      has_persistent_ = true;
      break;
    case Kind::recv_init:
      last_made_ = {op.comm, op.peer, me, op.tag};
      last_made_receives_ = true;
      has_persistent_ = true;
      break;
    case Kind::isend:
    case Kind::issend:
    case Kind::ibsend:
      post({op.comm, me, op.peer, op.tag}, op.line, false);
      break;
    case Kind::irecv:
      post({op.comm, op.peer, me, op.tag}, op.line, true);
      break;
    case Kind::start:
      post({op.comm, op.peer, op.bytes, op.tag}, op.line, op.bytes == me);
      break;
    case Kind::file:
      if (!file_traits_of(file_call_of(op)).makes_request) break;
      post({op.comm, me, op.peer, kFileRequestTag}, op.line, false);
      break;
    case Kind::icollective:
      collectives_.push_back(op.line);
      break;
    case Kind::wait:
      wait(walk, findings);
      break;
    case Kind::wait_last:
      wait_last(walk, findings);
      break;
    case Kind::wait_icollective:
      if (!collectives_.empty()) collectives_.pop_front();
      break;
    case Kind::waitall:
      clear();
      break;
    case Kind::waitany:
      ++complete_somewhere_;
      break;
    case Kind::test:
      test({op.comm, op.peer, op.bytes, op.tag});
      break;
    case Kind::request_free:
      free(walk, findings);
      break;
    case Kind::waitsome:
    case Kind::test_last:
    case Kind::testall:
    case Kind::testany:
    case Kind::testsome:
    case Kind::startall:  // which of them it starts is told by MessageReader alone
      test_all();
      break;
    default:
      break;
  }
}

void Requests::post(const Key& key, std::uint32_t line, bool is_receive) {
  const Pending request{line, is_receive, false, posted_++, kNowhere, kNowhere, nullptr};
  if (legacy_) {
    stack_.push_back(request);
    return;
  }
  auto place = static_cast<std::uint32_t>(requests_.size());
  if (free_.empty()) {
    requests_.push_back(request);
  } else {
    place = free_.back();
    free_.pop_back();
    requests_[place] = request;
  }
  last_ = place;
  const auto [queue, is_first] = pending_.try_emplace(key, Queue{place, place});
  requests_[place].queue = &*queue;
  if (is_first) return;
  requests_[place].previous = queue->second.last;
  requests_[queue->second.last].next = place;
  queue->second.last = place;
}

// The request at a place is not pending any more.
void Requests::complete_at(std::uint32_t place) {
  Pending& request = requests_[place];
  Queue& queue = request.queue->second;
  free_.push_back(place);
  request.serial = kNone;
  if (queue.first == queue.last) {
    pending_.erase(request.queue->first);
    return;
  }
  (request.previous == kNowhere ? queue.first : requests_[request.previous].next) = request.next;
  (request.next == kNowhere ? queue.last : requests_[request.next].previous) = request.previous;
}

void Requests::wait(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  auto found = pending_.find({op.comm, op.peer, op.bytes, op.tag});
  // The source of a persistent receive that SimGrid's tracer wrote is known to its wait alone.
  if (found == pending_.end()) found = pending_.find({op.comm, kAnySource, op.bytes, op.tag});
  if (found != pending_.end()) {
    complete_at(found->second.first);
  } else if (complete_somewhere_ == 0) {
    findings.add({Severity::warning, rank_, walk.reader().file(), op.line,
                  "waits for a request that is not pending: no isend or irecv before it has this "
                  "source, destination and tag"});
  }
}

void Requests::wait_last(const RankWalk& walk, Findings& findings) {
  if (!stack_.empty()) {
    stack_.pop_back();
  } else {
    findings.add({Severity::warning, rank_, walk.reader().file(), walk.op().line,
                  "waits for a request, and none is pending"});
  }
}

void Requests::test(const Key& key) {
  const auto found = pending_.find(key);
  if (found != pending_.end()) requests_[found->second.first].may_be_complete = true;
}

void Requests::test_all() {
  tested_ = posted_;
  collectives_.clear();
}

void Requests::clear() {
  if (!pending_.empty()) {
    // Clearing takes as long as the table is large, even when only few are in it.
    if (pending_.bucket_count() > 64 + 8 * pending_.size()) pending_ = {};
    pending_.clear();
  }
  requests_.clear();
  free_.clear();
  stack_.clear();
  collectives_.clear();
  for (auto& [number, numbered] : numbers_) numbered.pending = false;
}

void Requests::take_numbered(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  switch (op.kind) {
    case Kind::icollective:
      give(walk, op.tag, findings);
      break;
    case Kind::start:
      start(walk, static_cast<std::int32_t>(op.bytes), findings);
      break;
    case Kind::wait:
    case Kind::test:
      name(walk, static_cast<std::int32_t>(op.bytes), findings);
      break;
    case Kind::cancel:
    case Kind::request_free:
      cancel(walk, static_cast<std::int32_t>(op.bytes), findings);
      break;
    default:
      for (const double argument : walk.call().arguments) {
        const auto number = static_cast<std::int32_t>(argument);
        op.kind == Kind::startall ? start(walk, number, findings) : name(walk, number, findings);
      }
  }
}

bool Requests::is_pending(const Numbered& numbered) const {
  if (!numbered.pending || numbered.serial == kNone) return numbered.pending;
  if (!legacy_) {
    return numbered.place < requests_.size() && requests_[numbered.place].serial == numbered.serial;
  }
  return std::any_of(stack_.begin(), stack_.end(),
                     [&](const Pending& request) { return request.serial == numbered.serial; });
}

// Whether a test or a waitany, of this number or of all that are pending, has had its request.
bool Requests::may_be_complete(const Numbered& numbered) const {
  return numbered.may_be_complete || complete_somewhere_ > 0 ||
         (numbered.serial != kNone && numbered.serial < tested_);
}

void Requests::complete(Numbered& numbered) {
  if (is_pending(numbered) && numbered.serial != kNone) {
    if (legacy_) {
      std::erase_if(stack_,
                    [&](const Pending& request) { return request.serial == numbered.serial; });
    } else {
      complete_at(numbered.place);
    }
  }
  numbered.pending = false;
}

void Requests::fail(const RankWalk& walk, std::int32_t number, const std::string& what,
                    Findings& findings) const {
  findings.add({Severity::error, rank_, walk.reader().file(), walk.op().line,
                "request " + std::to_string(number) + " " + what});
}

// The request that the line makes has the number.
void Requests::give(const RankWalk& walk, std::int32_t number, Findings& findings) {
  Numbered& numbered = numbers_[number];
  if (is_pending(numbered)) {
    if (!may_be_complete(numbered)) {
      fail(walk, number,
           "is still pending since line " + std::to_string(numbered.line) +
               "; wait for it or test it before its number is given to another",
           findings);
    }
    complete(numbered);
  }
  const Op& op = walk.op();
  numbered = {.line = op.line, .given = true};
  if (op.kind == Kind::number_persistent) {
    numbered.is_persistent = true;
    numbered.key = last_made_;
    numbered.receives = last_made_receives_;
    return;
  }
  numbered.pending = true;
  if (op.kind == Kind::icollective) return;
  numbered.serial = posted_ - 1;
  numbered.place = last_;
}

bool Requests::exists(const RankWalk& walk, const Numbered& numbered, std::int32_t number,
                      Findings& findings) const {
  if (numbered.given) return true;
  fail(walk, number,
       "does not exist; a number names a request from the line that gives it to the wait for it",
       findings);
  return false;
}

// A wait or test names the number.
void Requests::name(const RankWalk& walk, std::int32_t number, Findings& findings) {
  Numbered& numbered = numbers_[number];
  if (!exists(walk, numbered, number, findings)) return;
  const Kind kind = walk.op().kind;
  if (kind != Kind::wait && kind != Kind::waitall) {
    numbered.may_be_complete = true;
    return;
  }
  complete(numbered);
  numbered.given = numbered.is_persistent;
}

void Requests::start(const RankWalk& walk, std::int32_t number, Findings& findings) {
  Numbered& numbered = numbers_[number];
  if (!numbered.is_persistent) {
    fail(walk, number,
         "is not persistent; a start needs the number that a send_init or recv_init gave",
         findings);
    return;
  }
  if (is_pending(numbered)) {
    if (!may_be_complete(numbered)) {
      fail(walk, number,
           "is still active since line " + std::to_string(numbered.line) +
               "; wait for it or test it before it is started again",
           findings);
    }
    complete(numbered);
  }
  post(numbered.key, walk.op().line, numbered.receives);
  numbered.line = walk.op().line;
  numbered.pending = true;
  numbered.may_be_complete = false;
  numbered.serial = posted_ - 1;
  numbered.place = last_;
}

void Requests::finish(const RankWalk& walk, Findings& findings) {
  for (auto& [number, numbered] : numbers_) {
    if (may_be_complete(numbered)) complete(numbered);
  }
  std::vector<std::uint32_t> lines(collectives_.begin(), collectives_.end());
  for (const auto& [number, numbered] : numbers_) {
    if (numbered.pending && numbered.serial == kNone) lines.push_back(numbered.line);
  }
  const auto take_pending = [&](const Pending& request) {
    if (!request.may_be_complete && request.serial >= tested_) lines.push_back(request.line);
  };
  for (const auto& [key, queue] : pending_) {
    for (std::uint32_t at = queue.first;; at = requests_[at].next) {
      take_pending(requests_[at]);
      if (at == queue.last) break;
    }
  }
  std::for_each(stack_.begin(), stack_.end(), take_pending);
  if (lines.size() <= complete_somewhere_) return;
  const std::size_t left = lines.size() - static_cast<std::size_t>(complete_somewhere_);
  findings.add({Severity::warning, rank_, walk.reader().file(),
                *std::min_element(lines.begin(), lines.end()),
                left == 1 ? "posts a request that is never waited for"
                          : "posts the first of " + std::to_string(left) +
                                " requests that are never waited for"});
}

// Requests that are cancelled or freed.

// The pending request of a message that the operation at hand names; null: none that is known.
const Requests::Pending* Requests::find(const RankWalk& walk) const {
  const Op& op = walk.op();
  if ((op.flags & kNumbered) == 0) {
    const auto found = pending_.find({op.comm, op.peer, op.bytes, op.tag});
    return found == pending_.end() ? nullptr : &requests_[found->second.first];
  }
  const auto found = numbers_.find(static_cast<std::int32_t>(op.bytes));
  if (legacy_ || found == numbers_.end() || found->second.serial == kNone) return nullptr;
  return is_pending(found->second) ? &requests_[found->second.place] : nullptr;
}

std::optional<TraceMessage> Requests::cancelled(const RankWalk& walk) const {
  const Pending* const request = find(walk);
  if (request == nullptr) return std::nullopt;
  const Key& key = request->queue->first;
  const std::uint32_t group = walk.group_of(key.comm).group;
  if (group == kNoGroup || key.source == kProcNull || key.destination == kProcNull) {
    return std::nullopt;
  }
  TraceMessage message;
  message.channel = {group, static_cast<std::int32_t>(key.destination), key.source, key.tag};
  message.is_receive = request->is_receive;
  message.line = walk.op().line;
  return message;
}

// The line cancels or frees the request of the number.
void Requests::cancel(const RankWalk& walk, std::int32_t number, Findings& findings) {
  Numbered& numbered = numbers_[number];
  if (!exists(walk, numbered, number, findings)) return;
  const bool pending = is_pending(numbered);
  if (pending && numbered.serial == kNone) {
    fail(walk, number, "is of a collective; MPI allows only to wait for it or to test it",
         findings);
  } else if (walk.op().kind == Kind::request_free) {
    complete(numbered);
    numbered = Numbered{};
  } else if (numbered.is_persistent && !pending) {
    fail(walk, number, "is not active; start it before it is cancelled", findings);
  }
}

// The request of a key is freed. Persistent ones, which are not known here, may have it too.
void Requests::free(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  const auto found = pending_.find({op.comm, op.peer, op.bytes, op.tag});
  if (found != pending_.end()) {
    complete_at(found->second.first);
  } else if (complete_somewhere_ == 0 && !has_persistent_) {
    findings.add({Severity::warning, rank_, walk.reader().file(), op.line,
                  "frees a request that is not there: no isend, irecv or persistent request before "
                  "it has this source, destination and tag"});
  }
}

// The requests of a rank between two repetitions of a loop.

std::uint64_t Requests::signature(const LoopLines& lines) const {
  std::uint64_t hash = complete_somewhere_ > 0 ? 1 : 0;
  const auto with_pending = [&](std::uint64_t before, const Pending& request) {
    const std::uint64_t tests =
        (request.may_be_complete ? 2U : 0U) + (request.serial < tested_ ? 1U : 0U);
    return mixed(mixed(before, lines.relative(request.line)), tests);
  };
  // Tables have no order, so what they hold is summed up.
  for (const auto& [key, queue] : pending_) {
    std::uint64_t of_key = KeyHash()(key);
    for (std::uint32_t at = queue.first;; at = requests_[at].next) {
      of_key = with_pending(of_key, requests_[at]);
      if (at == queue.last) break;
    }
    hash += mixed(of_key, 3);
  }
  for (const auto& [number, numbered] : numbers_) {
    std::uint64_t of_number =
        mixed(mixed(static_cast<std::uint32_t>(number), 1),
              (numbered.given ? 2U : 0U) + (numbered.is_persistent ? 1U : 0U));
    if (numbered.is_persistent) of_number = mixed(of_number, KeyHash()(numbered.key));
    if (is_pending(numbered)) {
      of_number = mixed(of_number, lines.relative(numbered.line));
      of_number = mixed(
          of_number, (may_be_complete(numbered) ? 2U : 0U) + (numbered.serial == kNone ? 1U : 0U));
    }
    hash += mixed(of_number, 5);
  }
  for (const Pending& request : stack_) hash = with_pending(hash, request);
  for (const std::uint32_t line : collectives_) hash = mixed(hash, lines.relative(line));
  return hash;
}

void Requests::skip(const SkippedLines& skipped, std::uint64_t complete_more) {
  for (Pending& request : requests_) request.line = skipped.moved(request.line);
  for (Pending& request : stack_) request.line = skipped.moved(request.line);
  for (auto& [number, numbered] : numbers_) numbered.line = skipped.moved(numbered.line);
  for (std::uint32_t& line : collectives_) line = skipped.moved(line);
  complete_somewhere_ += complete_more;
}

}  // namespace tisim
