// The messages and requests of a permissive run: posted, matched, and named by waits.
#include <algorithm>

#include "trace/check/deadlock/permissive_run.hpp"

namespace tisim {

void PermissiveRun::send(const RankState& state, std::int32_t peer, std::int32_t tag) {
  if (peer == kProcNull) return;
  const CommunicatorView& group = state.walk->group();
  const std::int32_t to = communicators_->world_rank(group.group, peer);
  RankState& receiver = ranks_[static_cast<std::size_t>(to)];
  ++receiver.arrived;
  const TraceChannel channel{group.group, peer, group.rank, tag};
  Channel& messages = channels_[channel];
  if (messages.receives.empty()) {
    ++messages.surplus;
  } else {
    const std::uint32_t serial = messages.receives.front();
    messages.receives.pop_front();
    if (messages.receives.empty()) channels_.erase(channel);
    const auto request = find(receiver, serial);
    if (request != receiver.requests.end()) request->done = true;
  }
  if (receiver.wait != Wait::none) wake(to);
}

PermissiveRun::Request& PermissiveRun::post(RankState& state, std::int32_t source,
                                            std::int64_t destination, std::int32_t tag) {
  Request& request = state.requests.emplace_back();
  request.serial = state.next_serial++;
  request.comm = state.walk->op().comm;
  request.source = source;
  request.destination = destination;
  request.tag = tag;
  return request;
}

void PermissiveRun::post_receive(RankState& state, std::int32_t peer, std::int32_t tag) {
  const CommunicatorView& group = state.walk->group();
  Request& request = post(state, peer, group.rank, tag);
  if (peer == kProcNull) {
    request.done = true;
    return;
  }
  request.is_receive = true;
  request.is_any = peer == kAnySource || tag == kAnyTag;
  if (peer != kAnySource) request.from = communicators_->world_rank(group.group, peer);
  if (request.is_any) return;
  const TraceChannel channel{group.group, group.rank, peer, tag};
  Channel& messages = channels_[channel];
  if (messages.surplus == 0) {
    messages.receives.push_back(request.serial);
  } else {
    request.done = true;
    if (--messages.surplus == 0) channels_.erase(channel);
  }
}

PermissiveRun::RequestPlace PermissiveRun::find(RankState& state, std::uint32_t serial) {
  const auto found = std::lower_bound(
      state.requests.begin(), state.requests.end(), serial,
      [](const Request& request, std::uint32_t number) { return request.serial < number; });
  return found != state.requests.end() && found->serial == serial ? found : state.requests.end();
}

// The request that a wait names. The end: none that is known here, or one of a collective.
PermissiveRun::RequestPlace PermissiveRun::named(RankState& state) {
  const Op& op = state.walk->op();
  if ((op.flags & kNumbered) == 0) {
    return std::find_if(state.requests.begin(), state.requests.end(), [&](const Request& request) {
      return request.comm == op.comm && request.source == op.peer &&
             request.destination == op.bytes && request.tag == op.tag;
    });
  }
  const auto number = state.numbers.find(static_cast<std::int32_t>(op.bytes));
  return number == state.numbers.end() ? state.requests.end() : find(state, number->second);
}

// The requests that a waitall or waitany lists, if it does.
void PermissiveRun::take_list(RankState& state) {
  state.lists = (state.walk->op().flags & kNumbered) != 0;
  state.listed.clear();
  if (!state.lists) return;
  for (const double number : state.walk->call().arguments) {
    const auto found = state.numbers.find(static_cast<std::int32_t>(number));
    if (found == state.numbers.end() || find(state, found->second) == state.requests.end()) {
      continue;
    }
    state.listed.push_back(found->second);
  }
  std::sort(state.listed.begin(), state.listed.end());
}

bool PermissiveRun::is_awaited(const RankState& state, const Request& request) {
  return !state.lists ||
         std::binary_search(state.listed.begin(), state.listed.end(), request.serial);
}

}  // namespace tisim
