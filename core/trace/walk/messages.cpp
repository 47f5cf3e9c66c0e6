#include "trace/walk/messages.hpp"

#include <algorithm>

#include "support/mixing.hpp"

namespace tisim {

namespace {

TraceMessage sent(const RankWalk& walk, const CommunicatorView& group, std::int32_t to,
                  std::int32_t tag, std::int64_t bytes) {
  return {{group.group, to, group.rank, tag}, false, bytes, walk.op().line};
}

TraceMessage received(const RankWalk& walk, const CommunicatorView& group, std::int32_t from,
                      std::int32_t tag, std::int64_t bytes) {
  return {{group.group, group.rank, from, tag}, true, bytes, walk.op().line};
}

}  // namespace

std::size_t ChannelHash::operator()(const TraceChannel& channel) const {
  const auto half = [](std::uint32_t high, std::int32_t low) {
    return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(low);
  };
  // Mixed twice: numbers that only cancel each other out, such as tags that are ranks, would meet.
  const std::uint64_t ranks =
      mixed(half(static_cast<std::uint32_t>(channel.destination), channel.source), 0);
  return static_cast<std::size_t>(mixed(ranks, half(channel.group, channel.tag)));
}

void MessageReader::read(const RankWalk& walk, std::vector<TraceMessage>& messages) {
  const Op& op = walk.op();
  const std::int32_t me = walk.group().rank;
  if (walk.group().group == kNoGroup) return;
  switch (op.kind) {
    case Kind::send:
    case Kind::ssend:
    case Kind::bsend:
    case Kind::isend:
    case Kind::issend:
    case Kind::ibsend:
    case Kind::sendrecv:
      if (op.peer != kProcNull)
        messages.push_back(sent(walk, walk.group(), op.peer, op.tag, op.bytes));
      break;
    case Kind::recv:
    case Kind::irecv:
    case Kind::recv_half:
      if (op.peer != kProcNull)
        messages.push_back(received(walk, walk.group(), op.peer, op.tag, op.bytes));
      break;
    case Kind::send_init:
    case Kind::ssend_init:
    case Kind::bsend_init:
      persistent_.push_back(
          {.key = {op.comm, me, op.peer, op.tag}, .group = walk.group(), .bytes = op.bytes});
      break;
    case Kind::recv_init:
      persistent_.push_back({.key = {op.comm, op.peer, me, op.tag},
                             .group = walk.group(),
                             .is_receive = true,
                             .bytes = op.bytes});
      break;
    case Kind::number_persistent:
      if (auto* request = numbered(op.bytes); request != nullptr) request->number = -1;
      persistent_.back().number = op.bytes;
      break;
    case Kind::start: {
      auto* const request = (op.flags & kNumbered) != 0
                                ? numbered(op.bytes)
                                : to_start({op.comm, op.peer, op.bytes, op.tag});
      if (request != nullptr) start(walk, *request, messages);
      break;
    }
    case Kind::startall:
      if ((op.flags & kNumbered) != 0) {
        for (const double number : walk.call().arguments) {
          auto* const request = numbered(static_cast<std::int64_t>(number));
          if (request != nullptr) start(walk, *request, messages);
        }
        break;
      }
      for (Persistent& request : persistent_) {
        if (!request.active) start(walk, request, messages);
      }
      break;
    case Kind::wait: {
      auto* const request = (op.flags & kNumbered) != 0
                                ? numbered(op.bytes)
                                : to_wait_for({op.comm, op.peer, op.bytes, op.tag});
      if (request != nullptr) request->active = false;
      break;
    }
    case Kind::request_free: {
      const Key key{op.comm, op.peer, op.bytes, op.tag};
      auto* const request = (op.flags & kNumbered) != 0 ? numbered(op.bytes) : to_free(key);
      if (request != nullptr)
        persistent_.erase(persistent_.begin() + (request - persistent_.data()));
      break;
    }
    case Kind::waitall:
      if ((op.flags & kNumbered) != 0) {
        for (const double number : walk.call().arguments) {
          auto* const request = numbered(static_cast<std::int64_t>(number));
          if (request != nullptr) request->active = false;
        }
        break;
      }
      for (Persistent& request : persistent_) request.active = false;
      break;
    default:
      break;
  }
}

std::uint64_t MessageReader::signature() const {
  std::vector<std::uint64_t> starts;
  for (const Persistent& request : persistent_) {
    if (request.active) starts.push_back(request.started);
  }
  std::sort(starts.begin(), starts.end());
  std::uint64_t hash = persistent_.size();
  const auto mix = [&hash](auto value) { hash = mixed(hash, static_cast<std::uint64_t>(value)); };
  for (const Persistent& request : persistent_) {
    const auto& [comm, source, destination, tag] = request.key;
    mix(comm);
    mix(source);
    mix(destination);
    mix(tag);
    mix(request.group.group);
    mix(request.bytes);
    mix(request.number);
    mix((request.is_receive ? 2 : 0) + (request.active ? 1 : 0));
    if (!request.active) continue;
    mix(std::lower_bound(starts.begin(), starts.end(), request.started) - starts.begin());
  }
  return hash;
}

// The first that is not active. Where all are, a test or a waitany has completed one of them:
// probably the one that was started first.
MessageReader::Persistent* MessageReader::to_start(const Key& key) {
  for (Persistent& request : persistent_) {
    if (request.key == key && !request.active) return &request;
  }
  return to_wait_for(key);
}

// The active one that was started first.
MessageReader::Persistent* MessageReader::to_wait_for(const Key& key) {
  Persistent* oldest = nullptr;
  for (Persistent& request : persistent_) {
    if (request.key != key || !request.active) continue;
    if (oldest == nullptr || request.started < oldest->started) oldest = &request;
  }
  return oldest;
}

// The active one, else any.
MessageReader::Persistent* MessageReader::to_free(const Key& key) {
  Persistent* const active = to_wait_for(key);
  return active != nullptr ? active : to_start(key);
}

MessageReader::Persistent* MessageReader::numbered(std::int64_t number) {
  for (Persistent& request : persistent_) {
    if (request.number == number) return &request;
  }
  return nullptr;
}

void MessageReader::start(const RankWalk& walk, Persistent& request,
                          std::vector<TraceMessage>& messages) {
  const auto& [comm, source, destination, tag] = request.key;
  request.active = true;
  request.started = ++starts_;
  if (request.is_receive) {
    if (source != kProcNull)
      messages.push_back(received(walk, request.group, source, tag, request.bytes));
  } else if (destination != kProcNull) {
    const auto to = static_cast<std::int32_t>(destination);
    messages.push_back(sent(walk, request.group, to, tag, request.bytes));
  }
}

}  // namespace tisim
