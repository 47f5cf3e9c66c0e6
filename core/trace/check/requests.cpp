#include "trace/check/requests.hpp"

#include <algorithm>

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
  switch (op.kind) {
    case Kind::isend:
    case Kind::issend:
    case Kind::ibsend:
      post({op.comm, me, op.peer, op.tag}, op.line);
      break;
    case Kind::irecv:
      post({op.comm, op.peer, me, op.tag}, op.line);
      break;
    case Kind::start:
      post({op.comm, op.peer, op.bytes, op.tag}, op.line);
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

void Requests::post(const Key& key, std::uint32_t line) {
  const Pending request{line, false, posted_++, 0};
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
  const auto [queue, is_first] = pending_.try_emplace(key, Queue{place, place});
  if (is_first) return;
  requests_[queue->second.last].next = place;
  queue->second.last = place;
}

void Requests::wait(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  auto found = pending_.find({op.comm, op.peer, op.bytes, op.tag});
  // The source of a persistent receive that SimGrid's tracer wrote is known to its wait alone.
  if (found == pending_.end()) found = pending_.find({op.comm, kAnySource, op.bytes, op.tag});
  if (found != pending_.end()) {
    Queue& queue = found->second;
    free_.push_back(queue.first);
    if (queue.first == queue.last) {
      pending_.erase(found);
    } else {
      queue.first = requests_[queue.first].next;
    }
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
}

void Requests::finish(const RankWalk& walk, Findings& findings) {
  std::vector<std::uint32_t> lines(collectives_.begin(), collectives_.end());
  const auto take_pending = [&](const Pending& request) {
    if (!request.may_be_complete && request.number >= tested_) lines.push_back(request.line);
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

}  // namespace tisim
