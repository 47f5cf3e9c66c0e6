#include "engine/recorder.hpp"

namespace tisim {

void Recorder::begin_action(const Rank& rank, std::int32_t index, double now,
                            std::int8_t operation) {
  end_action(index, now);
  const Op& op = rank.op;
  Open& open = open_[at(index)];
  open.has_action = true;
  ActionRecord& action = open.action;
  action.start = now;
  action.rank = index;
  action.kind = static_cast<std::uint8_t>(op.kind);
  action.operation = operation;
  action.line = op.line;
  action.comm = op.comm;
  const bool is_message = op.kind >= Kind::send && op.kind <= Kind::recv_half;
  action.bytes = is_message ? op.bytes : -1;
  action.peer = is_message ? op.peer : -1;
  action.tag = is_message ? op.tag : -1;
}

void Recorder::end_action(std::int32_t index, double now) {
  Open& open = open_[at(index)];
  if (!open.has_action) return;
  open.has_action = false;
  open.action.end = now;
  actions.push_back(open.action);
}

void Recorder::unblock(const Rank& rank, std::int32_t index, double now) {
  Open& open = open_[at(index)];
  if (now > open.blocked) {
    const bool waited = rank.phase == Phase::waiting || rank.phase == Phase::finishing_all;
    states.push_back({open.blocked, now, waited ? open.waker : kNoMessage, index,
                      static_cast<std::uint8_t>(rank.phase), open.action.kind,
                      open.action.operation});
  }
  open.waker = kNoMessage;
}

Recorder::Times& Recorder::times(std::int32_t message) {
  if (at(message) >= times_.size()) times_.resize(2 * at(message) + 64);
  Times& found = times_[at(message)];
  if (found.number == kNoMessage) found.number = numbers_++;
  return found;
}

void Recorder::finish(std::int32_t index, const Message& message) {
  const Times taken = times(index);
  times_[at(index)] = Times{};
  messages.push_back({taken.sent, taken.received, taken.started, taken.arrived, taken.number,
                      message.bytes, message.source, message.destination, message.tag,
                      static_cast<std::uint8_t>(message.context & 1), message.detached});
}

}  // namespace tisim
