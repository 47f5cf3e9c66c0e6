#include "simulation/recorder.hpp"

namespace tisim {

void Records::reserve(std::size_t room) {
  // About as many as programs have of each; more is no error.
  order.reserve(room + room / 8);
  actions.reserve(room / 2);
  states.reserve(room / 2);
  waits.reserve(room / 4);
  sent.reserve(room / 4);
  messages.reserve(room / 4);
}

std::int32_t root_of(const Call& call, std::int32_t members) {
  std::size_t place = 0;  // of the root among the arguments, which may leave it out
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

Recorder::Recorder(std::size_t room) : room_(room) { records_.reserve(room_); }

Records Recorder::take() {
  Records taken = std::exchange(records_, {});
  records_.reserve(room_);
  return taken;
}

void Recorder::add_ranks(std::size_t count, double now) {
  open_.resize(open_.size() + count, Open{now, -1});
}

void Recorder::unblock(std::int32_t rank, Phase phase, double now) {
  Open& open = open_[at(rank)];
  const std::int32_t waker = std::exchange(open.waker, -1);
  if (now <= open.since) return;
  records_.states.push_back({open.since, now, rank, static_cast<std::uint8_t>(phase)});
  if (waker < 0) {
    records_.order.push_back(Entry::state);
    return;
  }
  const MessageRecord& m = under_way_[at(waker)];
  records_.order.push_back(Entry::wait);
  records_.waits.push_back({m.sent, m.received, m.started, m.number, m.bytes, m.source,
                            m.destination, m.destination == rank});
}

void Recorder::post_send(std::int32_t index, const Message& message, double now) {
  MessageRecord& record = under_way(index);
  record.sent = now;
  record.number = numbers_++;
  record.bytes = message.bytes;
  record.source = message.source;
  record.destination = message.destination;
  record.tag = message.tag;
  record.collective = static_cast<std::uint8_t>(message.context & 1);
  record.detached = message.detached;
  records_.order.push_back(Entry::sent);
  records_.sent.push_back({record.number, record.bytes, record.source});
}

void Recorder::receive(std::int32_t index) {
  records_.order.push_back(Entry::received);
  records_.messages.push_back(under_way_[at(index)]);
}

void Recorder::give_up() {
  for (MessageRecord& message : under_way_) {
    if (message.number == kNoMessage || message.received != kNoTime) continue;
    records_.order.push_back(Entry::lost);
    records_.messages.push_back(message);
    message = MessageRecord{};
  }
}

}  // namespace tisim
