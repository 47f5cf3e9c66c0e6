// All messages of a trace, by channel: which are sent and not received, or the other way round.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/check/finding.hpp"
#include "trace/check/messages.hpp"

namespace tisim {

class MessageLedger {
 public:
  // `set` and `communicators` must outlive it.
  MessageLedger(const TraceSet& set, const Communicators& communicators)
      : set_(&set), communicators_(&communicators) {}

  void add(const TraceMessage& message);
  // The messages of a rank are complete.
  void end_rank();

  // Matches all of them. Reads the trace again where something is wrong, to say where. Throws
  // TraceError.
  void report(Findings& findings);

 private:
  // What one side of a channel comes to.
  struct Side {
    std::uint64_t count = 0;
    std::uint64_t hash = 0;  // of the sizes in their order
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  struct Entry {
    TraceChannel channel;
    bool is_receive;
    Side side;
  };
  // Entries of one channel side by side: a send, a receive, or both.
  struct Pair {
    TraceChannel channel;
    Side sent;
    Side received;
  };
  using SideKey = std::pair<TraceChannel, bool>;

  std::vector<Pair> paired() const;
  void report_destination(const Pair* first, const Pair* last, Findings& findings);
  void report_surplus(const std::vector<Pair>& wild, std::vector<Pair>& surplus,
                      Findings& findings);
  void report_sizes(const Pair& pair, Findings& findings);
  void report_unmatched(const TraceChannel& channel, bool is_receive, std::uint64_t matched,
                        std::uint64_t total, Findings& findings);

  const TraceSet* set_;
  const Communicators* communicators_;
  std::map<SideKey, Side> of_rank_;
  std::vector<Entry> entries_;
};

}  // namespace tisim
