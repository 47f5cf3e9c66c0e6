#include "trace/check/trace_sums.hpp"

#include <map>
#include <string>
#include <utility>

namespace tisim {

ActionCounter::Share ActionCounter::take(const RankWalk& walk,
                                         const std::vector<TraceMessage>& messages) {
  const Op& op = walk.op();
  Share share;
  // Continuation operations count towards the first operation of their line.
  if ((op.flags & kContinuation) == 0) {
    current_ =
        &counts_[static_cast<std::size_t>(op.kind)][static_cast<std::size_t>(walk.operation())];
    share.is_action = true;
  }
  share.count = current_;
  if (op.kind == Kind::compute || op.kind == Kind::sleep) share.amount = op.amount;
  for (const TraceMessage& message : messages) {
    if (message.is_receive) continue;
    ++share.messages;
    share.bytes += static_cast<std::uint64_t>(message.bytes);
  }
  // An access to a window is a message of its origin.
  if (share.is_action && op.kind == Kind::window && op.peer >= 0 &&
      window_traits_of(walk.operation()).form == WindowForm::access) {
    ++share.messages;
    share.bytes += static_cast<std::uint64_t>(op.bytes);
  }
  repeat(share, 1);
  return share;
}

void ActionCounter::repeat(const Share& share, std::uint64_t times) {
  if (share.is_action) {
    share.count->actions += times;
    actions_ += times;
  }
  share.count->amount += static_cast<double>(times) * share.amount;
  share.count->messages += times * share.messages;
  share.count->bytes += times * share.bytes;
}

void ActionCounter::report(CheckReport& into) const {
  into.actions = actions_;
  std::map<std::string, ActionCount> by_name;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    for (std::size_t operation = 0; operation < kOperations; ++operation) {
      const ActionCount& count = counts_[kind][operation];
      if (count.actions == 0) continue;
      const bool is_nop = kind == static_cast<std::size_t>(Kind::nop);
      const std::string name(
          is_nop ? "init, finalize and similar"
                 : name_of(static_cast<Kind>(kind), static_cast<Operation>(operation)));
      ActionCount& sum = by_name[name];
      sum.name = name;
      sum.actions += count.actions;
      sum.messages += count.messages;
      sum.bytes += count.bytes;
      sum.amount += count.amount;
    }
  }
  for (auto& [name, count] : by_name) into.counts.push_back(std::move(count));
}

void TraceSums::take(const RankWalk& walk, std::int32_t rank,
                     const std::vector<TraceMessage>& messages, Findings& findings,
                     Repetition* record) {
  const ActionCounter::Share share = counter_.take(walk, messages);
  balance_.take(rank, walk.op());
  for (const TraceMessage& message : messages) {
    balance_.take(rank, message);
    if (!ignores_messages_) messages_.add(message);
  }
  const auto call = collectives_.take(walk, rank, findings);
  if (record == nullptr) return;
  record->operations.emplace_back(share, walk.op());
  record->messages.insert(record->messages.end(), messages.begin(), messages.end());
  if (call) record->calls.push_back(*call);
}

void TraceSums::cancel(const TraceMessage& message, Repetition* record) {
  if (!ignores_messages_) messages_.cancel(message, 1);
  if (record != nullptr) record->cancelled.push_back(message);
}

void TraceSums::repeat(std::int32_t rank, const Repetition& repetition, std::uint64_t times) {
  for (const auto& [share, op] : repetition.operations) {
    counter_.repeat(share, times);
    balance_.take(rank, op, times);
  }
  for (const TraceMessage& message : repetition.messages) balance_.take(rank, message, times);
  if (!ignores_messages_) {
    messages_.repeat(repetition.messages, times);
    for (const TraceMessage& message : repetition.cancelled) messages_.cancel(message, times);
  }
  collectives_.repeat(rank, repetition.calls, times);
}

void TraceSums::end_rank(std::int32_t rank) {
  messages_.end_rank();
  collectives_.end_rank(rank);
}

}  // namespace tisim
