#include "trace/check/trace_sums.hpp"

namespace tisim {

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
