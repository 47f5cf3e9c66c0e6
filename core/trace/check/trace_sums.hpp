// The sums of a check over all ranks, added rank by rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/check/check.hpp"
#include "trace/check/collective_order.hpp"
#include "trace/check/files.hpp"
#include "trace/check/message_ledger.hpp"
#include "trace/walk/messages.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Counts of each action in a trace, and the data it sends.

// Counts actions by kind and, for collectives, by operation.
class ActionCounter {
 public:
  // One operation's contribution to a count.
  struct Share {
    ActionCount* count = nullptr;
    bool is_action = false;
    double amount = 0;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };

  // Counts the current operation with its messages.
  Share take(const RankWalk& walk, const std::vector<TraceMessage>& messages);
  // Counts a share `times` more times.
  void repeat(const Share& share, std::uint64_t times);
  void report(CheckReport& into) const;

 private:
  std::array<std::array<ActionCount, kOperations>, kKinds> counts_;
  ActionCount* current_ = nullptr;
  std::uint64_t actions_ = 0;
};

// The contribution of one repetition of a loop to the sums.
struct Repetition {
  std::vector<std::pair<ActionCounter::Share, Op>> operations;
  std::vector<TraceMessage> messages;
  std::vector<TraceMessage> cancelled;
  std::vector<CollectiveOrder::RankCall> calls;

  void clear() {
    operations.clear();
    messages.clear();
    cancelled.clear();
    calls.clear();
  }
};

class TraceSums {
 public:
  // All must outlive it.
  TraceSums(const TraceSet& set, const Communicators& communicators, const Progress& progress)
      : messages_(set, communicators, progress),
        collectives_(set, communicators, progress),
        balance_(set.ranks()) {}

  // Adds the current operation with its messages, and records it in `record` if that is not null.
  void take(const RankWalk& walk, std::int32_t rank, const std::vector<TraceMessage>& messages,
            Findings& findings, Repetition* record);
  // Notes that a message posted by the rank may have been withdrawn.
  void cancel(const TraceMessage& message, Repetition* record);
  // Equivalent to taking all operations of the repetition `times` times.
  void repeat(std::int32_t rank, const Repetition& repetition, std::uint64_t times);
  void end_rank(std::int32_t rank);
  // Stops matching messages from here on.
  void ignore_messages() { ignores_messages_ = true; }

  const ActionCounter& counter() const { return counter_; }
  MessageLedger& messages() { return messages_; }
  CollectiveOrder& collectives() { return collectives_; }
  WrittenRanges& written() { return written_; }
  const Balance& balance() const { return balance_; }

 private:
  MessageLedger messages_;
  CollectiveOrder collectives_;
  Balance balance_;
  ActionCounter counter_;
  WrittenRanges written_;
  bool ignores_messages_ = false;
};

}  // namespace tisim
