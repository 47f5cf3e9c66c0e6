#include "event_log/event_log.hpp"

#include <utility>

namespace tisim {

void Records::reserve(std::size_t room) {
  // Typical proportions in programs; exceeding them is harmless.
  order.reserve(room + room / 8);
  actions.reserve(room / 2);
  states.reserve(room / 2);
  waits.reserve(room / 4);
  sent.reserve(room / 4);
  messages.reserve(room / 4);
}

void Records::clear() {
  order.clear();
  actions.clear();
  states.clear();
  waits.clear();
  sent.clear();
  messages.clear();
}

std::int32_t root_of(const Call& call, std::int32_t members) {
  std::size_t place = 0;  // index of the root in the arguments, which may omit it
  switch (call.operation) {
    case Operation::bcast:
    case Operation::reduce:
      place = 1;
      break;
    case Operation::gather:
    case Operation::scatter:
      place = 2;
      break;
    case Operation::gatherv:
    case Operation::scatterv:
      place = 1 + static_cast<std::size_t>(members);
      break;
    default:
      return -1;
  }
  return place < call.arguments.size() ? static_cast<std::int32_t>(call.arguments[place]) : 0;
}

void EventLog::open(std::size_t room, std::size_t ranks, double now) {
  is_open_ = true;
  room_ = room;
  records_ = {};
  records_.reserve(room_);
  stopped_.assign(ranks, Stopped{now, -1});
  under_way_.clear();
  numbers_ = 0;
}

Records EventLog::take(Records spare) {
  Records taken = std::exchange(records_, std::move(spare));
  records_.clear();
  records_.reserve(room_);
  return taken;
}

void EventLog::add_ranks(std::size_t count, double now) {
  stopped_.resize(stopped_.size() + count, Stopped{now, -1});
}

void EventLog::continue_rank(std::int32_t rank, std::uint8_t phase, double now) {
  Stopped& stopped = stopped_[at(rank)];
  const std::int32_t waker = std::exchange(stopped.waker, -1);
  if (now <= stopped.since) return;
  records_.states.push_back({stopped.since, now, rank, phase});
  if (waker < 0) {
    records_.order.push_back(Entry::state);
    return;
  }
  const MessageRecord& m = under_way_[at(waker)];
  records_.order.push_back(Entry::wait);
  records_.waits.push_back({m.sent, m.received, m.started, m.number, m.bytes, m.source,
                            m.destination, m.destination == rank});
}

void EventLog::post_send(std::int32_t index, const SentMessage& message, double now) {
  MessageRecord& record = under_way(index);
  record.sent = now;
  record.number = numbers_++;
  record.bytes = message.bytes;
  record.source = message.source;
  record.destination = message.destination;
  record.tag = message.tag;
  record.collective = message.collective;
  record.detached = message.detached;
  records_.order.push_back(Entry::sent);
  records_.sent.push_back({record.number, record.bytes, record.source});
}

void EventLog::complete_receive(std::int32_t index) {
  records_.order.push_back(Entry::received);
  records_.messages.push_back(under_way_[at(index)]);
}

void EventLog::complete_unattended(std::int32_t index) {
  records_.order.push_back(Entry::unattended);
  records_.messages.push_back(under_way_[at(index)]);
}

void EventLog::withdraw_send(std::int32_t index) {
  records_.order.push_back(Entry::lost);
  records_.messages.push_back(under_way_[at(index)]);
}

void EventLog::close_messages() {
  for (MessageRecord& message : under_way_) {
    if (message.number == kNoMessage || message.received != kNoTime) continue;
    records_.order.push_back(Entry::lost);
    records_.messages.push_back(message);
    message = MessageRecord{};
  }
}

}  // namespace tisim
