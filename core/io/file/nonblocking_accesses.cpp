#include "io/file/nonblocking_accesses.hpp"

#include "support/invariant.hpp"

namespace tisim {

std::int32_t NonblockingAccesses::begin(Rank& rank, std::int32_t index) {
  const std::int32_t message_index = matcher_.messages().acquire();
  Message& message = matcher_.message(message_index);
  message.bytes = rank.op.bytes;
  message.source = index;
  message.destination = index;
  message.state = MessageState::matched;
  message.holders = 1;
  requests_.add_unnamed(rank, kSender, message_index);
  const std::int32_t activity = activities_.reserve();
  message_of_.emplace(activity, message_index);
  return activity;
}

std::int32_t NonblockingAccesses::begin_split(std::uint64_t handle) {
  const std::int32_t activity = activities_.reserve();
  splits_[handle] = {};
  split_of_.emplace(activity, handle);
  return activity;
}

bool NonblockingAccesses::end_split(std::uint64_t handle, std::int32_t rank) {
  const auto split = splits_.find(handle);
  if (split == splits_.end()) return true;
  if (!split->second.has_ended) {
    split->second.waiting = rank;
    return false;
  }
  splits_.erase(split);
  return true;
}

bool NonblockingAccesses::end(std::int32_t activity, bool failed) {
  if (const auto split = split_of_.find(activity); split != split_of_.end()) {
    const auto call = splits_.find(split->second);
    split_of_.erase(split);
    if (failed) return true;
    call->second.has_ended = true;
    if (call->second.waiting >= 0) {
      runtime_.clock.wake(call->second.waiting);
      splits_.erase(call);
    }
    return true;
  }
  const auto entry = message_of_.find(activity);
  if (entry == message_of_.end()) return false;
  const std::int32_t index = entry->second;
  message_of_.erase(entry);
  if (failed) return true;  // the rank waits forever
  Message& message = matcher_.message(index);
  message.arrived = true;
  const std::int32_t rank = message.source;
  const std::int32_t request = message.request[kSender];
  if (request == kBlockingCall) {
    runtime_.wake_by(index, rank);
  } else {
    const Request of_message = requests_[request];
    if (requests_.complete(request, rank)) messages_.end_unattended(of_message);
  }
  if (runtime_.log.is_open()) runtime_.log.mark_access(rank, index);
  return true;
}

void NonblockingAccesses::verify() const {
  for (const auto& [activity, message] : message_of_) {
    ensure(!matcher_.message(message).arrived && matcher_.message(message).holders == 1,
           "the request of an access in progress is pending");
  }
}

}  // namespace tisim
