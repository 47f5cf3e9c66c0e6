// All messages of a trace by channel; finds those sent but never received and vice versa.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/progress.hpp"
#include "trace/check/finding.hpp"
#include "trace/check/sequence_hash.hpp"
#include "trace/walk/rank_requests.hpp"

namespace tisim {

// Balance of work and messages across the ranks.

// Adds notes only: an uneven program is not wrong.
class Balance {
 public:
  explicit Balance(std::int32_t ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  // Adds an operation or a message `times` times.
  void take(std::int32_t rank, const Op& op, std::uint64_t times = 1) {
    if (op.kind == Kind::compute)
      ranks_[static_cast<std::size_t>(rank)].compute.add(op.amount, op.line, times);
  }
  void take(std::int32_t rank, const TraceMessage& message, std::uint64_t times = 1) {
    if (message.is_receive) return;
    ranks_[static_cast<std::size_t>(rank)].sent.add(static_cast<double>(message.bytes),
                                                    message.line, times);
  }
  void report(const TraceSet& set, Findings& findings) const;

 private:
  // A sum, and the line of its largest part.
  struct Sum {
    double total = 0;
    double largest = 0;
    std::uint32_t line = 0;

    void add(double amount, std::uint32_t at_line, std::uint64_t times) {
      total += static_cast<double>(times) * amount;
      if (amount <= largest) return;
      largest = amount;
      line = at_line;
    }
  };
  struct Share {
    Sum compute;  // flops
    Sum sent;     // bytes, without those of collectives
  };

  std::vector<Share> ranks_;
};

// Takes the ranks one after the other. A channel is dropped as soon as both of its ranks have been
// read without a problem, so that a sound trace of many ranks takes little memory.
class MessageLedger {
 public:
  // `set`, `communicators` and `progress` must outlive it.
  MessageLedger(const TraceSet& set, const Communicators& communicators, const Progress& progress)
      : set_(&set), communicators_(&communicators), progress_(&progress) {}

  void add(const TraceMessage& message);
  // Equivalent to adding the sequence of messages `times` times. Each of them has been added since
  // the last end_rank().
  void repeat(std::span<const TraceMessage> messages, std::uint64_t times);
  // Marks `times` messages like this one, added since the last end_rank(), as possibly withdrawn.
  void cancel(const TraceMessage& message, std::uint64_t times);
  // Ends the messages of a rank.
  void end_rank();

  // Number of unresolved channels.
  std::size_t open() const { return open_.size(); }

  // Matches all messages. Reads the trace again to locate problems. Throws TraceError.
  void report(Findings& findings);

 private:
  // The totals of one side of a channel.
  struct Side {
    std::uint64_t count = 0;
    std::uint64_t cancelled = 0;  // possibly withdrawn ones
    SequenceHash sizes;           // in order
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  struct Sides {
    Side sent;
    Side received;
  };
  using ChannelSides = std::pair<const TraceChannel, Sides>;
  struct Pair {
    TraceChannel channel;
    Side sent;
    Side received;
  };

  static std::int64_t room_of(const TraceMessage& message);
  static bool may_be_wrong(const Sides& sides);
  std::vector<Pair> take_open();
  void report_destination(const Pair* first, const Pair* last, Findings& findings);
  void report_surplus(const std::vector<Pair>& wild, std::vector<Pair>& surplus,
                      Findings& findings);
  void report_sizes(const Pair& pair, Findings& findings);
  void report_unmatched(const TraceChannel& channel, bool is_receive, std::uint64_t matched,
                        std::uint64_t total, Findings& findings);

  const TraceSet* set_;
  const Communicators* communicators_;
  const Progress* progress_;
  std::unordered_map<TraceChannel, Sides, ChannelHash> open_;
  std::vector<const ChannelSides*> rank_channels_;  // of the current rank, each once
};

}  // namespace tisim
