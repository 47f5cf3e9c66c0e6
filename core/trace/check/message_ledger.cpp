#include "trace/check/message_ledger.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>

namespace tisim {

namespace {

// Multiple of the mean above which a rank's share is worth a note.
constexpr double kNotableCompute = 1.5;
constexpr double kNotableSent = 2.0;

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

}  // namespace

void Balance::report(const TraceSet& set, Findings& findings) const {
  const auto note = [&](Sum Share::*sum, double notable, const char* does, const char* unit,
                        const char* advice) {
    double all = 0;
    std::size_t most = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      all += (ranks_[rank].*sum).total;
      if ((ranks_[rank].*sum).total > (ranks_[most].*sum).total) most = rank;
    }
    const Sum& largest = ranks_[most].*sum;
    const double mean = all / static_cast<double>(ranks_.size());
    if (largest.total <= notable * mean) return;
    const auto rank = static_cast<std::int32_t>(most);
    findings.add({Severity::note, rank, set.file(rank), largest.line,
                  "imbalance: rank " + std::to_string(rank) + " " + does + " " +
                      rounded(largest.total) + " " + unit + ", " + rounded(largest.total / mean) +
                      " times the mean over ranks, most of it at "
                      "once here" +
                      advice});
  };
  note(&Share::compute, kNotableCompute, "computes", "flops",
       "; spread the work, or the other ranks wait");
  note(&Share::sent, kNotableSent, "sends", "bytes",
       "; spread the messages, or its link is the bottleneck");
}

namespace {

constexpr std::uint64_t kComparisonsBetweenReports =
    1U << 16;  // comparisons between two checks for Ctrl-C

// The messages of one side of a channel, in order.
class ChannelWalk {
 public:
  ChannelWalk(const TraceSet& set, const Communicators& communicators, const Progress& progress,
              const TraceChannel& channel, bool is_receive)
      : walk_(set, communicators,
              communicators.world_rank(channel.group,
                                       is_receive ? channel.destination : channel.source),
              &progress),
        channel_(channel),
        is_receive_(is_receive) {}

  bool next() {
    for (;;) {
      while (at_ < requests_.messages().size()) {
        message_ = requests_.messages()[at_++];
        if (message_.is_receive == is_receive_ && message_.channel == channel_) return true;
      }
      at_ = 0;
      if (!walk_.next()) return false;
      requests_.take(walk_);
    }
  }
  const TraceMessage& message() const { return message_; }
  std::string file() const { return walk_.reader().file(); }

 private:
  RankWalk walk_;
  RankRequests requests_;
  TraceChannel channel_;
  bool is_receive_;
  std::size_t at_ = 0;
  TraceMessage message_;
};

std::string described(const Communicators& communicators, const TraceChannel& channel) {
  const auto rank = [&](std::int32_t number) {
    return number == kAnySource
               ? std::string("any rank")
               : "rank " + std::to_string(communicators.world_rank(channel.group, number));
  };
  const std::string tag = channel.tag == kAnyTag ? "any tag" : "tag " + std::to_string(channel.tag);
  return "from " + rank(channel.source) + " to " + rank(channel.destination) + " with " + tag;
}

// Which receive takes a message of these is known only once all messages are.
bool is_wild(const TraceChannel& channel) {
  return channel.source == kAnySource || channel.tag == kAnyTag;
}

}  // namespace

void MessageLedger::add(const TraceMessage& message) {
  ChannelSides& channel = *open_.try_emplace(message.channel).first;
  Side& side = message.is_receive ? channel.second.received : channel.second.sent;
  const Side& other = message.is_receive ? channel.second.sent : channel.second.received;
  const bool to_itself = message.channel.source == message.channel.destination;
  if (side.count == 0 && !(to_itself && other.count > 0)) rank_channels_.push_back(&channel);
  const std::int64_t room = room_of(message);
  side.least = side.count == 0 ? room : std::min(side.least, room);
  side.most = side.count == 0 ? room : std::max(side.most, room);
  side.sizes.add(static_cast<std::uint64_t>(room));
  ++side.count;
}

// A receive of unspecified size has room for everything.
std::int64_t MessageLedger::room_of(const TraceMessage& message) {
  return message.bytes < 0 ? std::numeric_limits<std::int64_t>::max() : message.bytes;
}

void MessageLedger::repeat(std::span<const TraceMessage> messages, std::uint64_t times) {
  std::vector<const TraceMessage*> sorted;
  sorted.reserve(messages.size());
  for (const TraceMessage& message : messages) sorted.push_back(&message);
  const auto side_of = [](const TraceMessage* message) {
    return std::tie(message->channel, message->is_receive);
  };
  std::sort(sorted.begin(), sorted.end(), [&](const TraceMessage* a, const TraceMessage* b) {
    return side_of(a) != side_of(b) ? side_of(a) < side_of(b) : a < b;
  });
  std::vector<std::uint64_t> rooms;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    rooms.clear();
    for (; last < sorted.size() && side_of(sorted[last]) == side_of(sorted[first]); ++last) {
      rooms.push_back(static_cast<std::uint64_t>(room_of(*sorted[last])));
    }
    Sides& sides = open_.find(sorted[first]->channel)->second;
    Side& side = sorted[first]->is_receive ? sides.received : sides.sent;
    side.sizes.add_repeated(rooms, times);
    side.count += rooms.size() * times;
    first = last;
  }
}

void MessageLedger::cancel(const TraceMessage& message, std::uint64_t times) {
  const auto channel = open_.find(message.channel);
  if (channel == open_.end()) return;
  Sides& sides = channel->second;
  (message.is_receive ? sides.received : sides.sent).cancelled += times;
}

bool MessageLedger::may_be_wrong(const Sides& sides) {
  const auto& [sent, received] = sides;
  return sent.count != received.count || sent.cancelled + received.cancelled > 0 ||
         (sent.most > received.least && sent.sizes != received.sizes);
}

void MessageLedger::end_rank() {
  for (const ChannelSides* channel : rank_channels_) {
    if (is_wild(channel->first) || may_be_wrong(channel->second)) continue;
    open_.erase(TraceChannel(channel->first));
  }
  rank_channels_.clear();
}

// The remaining channels, in order.
std::vector<MessageLedger::Pair> MessageLedger::take_open() {
  std::vector<Pair> pairs;
  pairs.reserve(open_.size());
  for (const auto& [channel, sides] : open_) {
    pairs.push_back({channel, sides.sent, sides.received});
    // A cancelled receive may take a message but need not.
    Side& received = pairs.back().received;
    received.count -= std::min(received.count, received.cancelled);
  }
  open_ = {};
  std::uint64_t compared = 0;
  std::sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
    if (++compared % kComparisonsBetweenReports == 0) report_progress(*progress_, 1.0);
    return a.channel < b.channel;
  });
  return pairs;
}

void MessageLedger::report(Findings& findings) {
  const std::vector<Pair> pairs = take_open();
  for (std::size_t first = 0; first < pairs.size();) {
    std::size_t last = first;
    while (last < pairs.size() && pairs[last].channel.group == pairs[first].channel.group &&
           pairs[last].channel.destination == pairs[first].channel.destination) {
      ++last;
    }
    report_destination(pairs.data() + first, pairs.data() + last, findings);
    report_progress(*progress_, 1.0);
    first = last;
  }
}

// All channels to one rank of one group.
void MessageLedger::report_destination(const Pair* first, const Pair* last, Findings& findings) {
  std::vector<Pair> wild;     // receives from any rank or of any tag
  std::vector<Pair> surplus;  // not taken by any receive of its own channel
  for (const Pair* pair = first; pair != last; ++pair) {
    if (is_wild(pair->channel)) {
      wild.push_back(*pair);
    } else if (pair->received.count > pair->sent.count) {
      report_unmatched(pair->channel, true, pair->sent.count, pair->received.count, findings);
    } else if (pair->sent.count > pair->received.count) {
      surplus.push_back(*pair);
    }
  }
  if (wild.empty()) {
    // Without wildcard receives, each message's receive is known.
    for (const Pair* pair = first; pair != last; ++pair) report_sizes(*pair, findings);
  }
  report_surplus(wild, surplus, findings);
}

// Lets receives from any rank, and then also those of any tag, take the surplus.
void MessageLedger::report_surplus(const std::vector<Pair>& wild, std::vector<Pair>& surplus,
                                   Findings& findings) {
  // Indices into `surplus` in order of tags; `surplus` itself is in order of sources.
  std::vector<std::size_t> by_tag(surplus.size());
  std::iota(by_tag.begin(), by_tag.end(), std::size_t{0});
  const auto tag_of = [&](std::size_t at) { return surplus[at].channel.tag; };
  const auto source_of = [](const Pair& pair) { return pair.channel.source; };
  std::sort(by_tag.begin(), by_tag.end(), [&](std::size_t a, std::size_t b) {
    return tag_of(a) != tag_of(b) ? tag_of(a) < tag_of(b) : a < b;
  });
  // The most specific ones choose first.
  std::vector<Pair> choosers;
  for (const int freedom : {0, 1, 2}) {
    for (const Pair& pair : wild) {
      const TraceChannel& c = pair.channel;
      if ((c.source == kAnySource) + (c.tag == kAnyTag) == freedom) choosers.push_back(pair);
    }
  }
  // Returns how many of `left` receives of a channel find no message.
  const auto choose = [&](const Pair& chooser, std::uint64_t left) {
    const auto take = [&left](Pair& pair) {
      const std::uint64_t taken = std::min(left, pair.sent.count - pair.received.count);
      pair.received.count += taken;
      left -= taken;
    };
    // Not equal_range: its return type does not compile with Clang 14 and GCC's library.
    if (const std::int32_t tag = chooser.channel.tag; tag != kAnyTag) {
      std::for_each(std::ranges::lower_bound(by_tag, tag, {}, tag_of),
                    std::ranges::upper_bound(by_tag, tag, {}, tag_of),
                    [&](std::size_t at) { take(surplus[at]); });
    } else if (const std::int32_t source = chooser.channel.source; source != kAnySource) {
      std::for_each(std::ranges::lower_bound(surplus, source, {}, source_of),
                    std::ranges::upper_bound(surplus, source, {}, source_of), take);
    } else {
      std::ranges::for_each(surplus, take);
    }
    return left;
  };
  for (const Pair& chooser : choosers) {
    const std::uint64_t all = chooser.received.count;
    const std::uint64_t left = choose(chooser, all);
    if (left > 0) report_unmatched(chooser.channel, true, all - left, all, findings);
  }
  for (const Pair& chooser : choosers) choose(chooser, chooser.received.cancelled);
  for (const Pair& pair : surplus) {
    const std::uint64_t received = pair.received.count + pair.received.cancelled;
    if (pair.sent.count > received + pair.sent.cancelled) {
      report_unmatched(pair.channel, false, received, pair.sent.count, findings);
    }
  }
}

void MessageLedger::report_unmatched(const TraceChannel& channel, bool is_receive,
                                     std::uint64_t matched, std::uint64_t total,
                                     Findings& findings) {
  if (findings.full()) {
    findings.add({});
    return;
  }
  const std::uint64_t left = total - matched;
  std::string message;
  if (is_receive) {
    message = "waits for a message " + described(*communicators_, channel) +
              " that is never sent: " + std::to_string(total) + " are received, " +
              std::to_string(matched) + " sent";
  } else {
    message = "sends a message " + described(*communicators_, channel) +
              " that is never received: " + std::to_string(total) + " are sent, " +
              std::to_string(matched) + " received";
  }
  if (left > 1) message += "; this is the first of " + std::to_string(left);
  const std::int32_t rank =
      communicators_->world_rank(channel.group, is_receive ? channel.destination : channel.source);
  Finding finding{Severity::error, rank, set_->file(rank), 0, std::move(message)};
  ChannelWalk walk(*set_, *communicators_, *progress_, channel, is_receive);
  for (std::uint64_t i = 0; i <= matched; ++i) walk.next();
  finding.line = walk.message().line;
  findings.add(std::move(finding));
}

// Reports messages that are larger than the buffer that receives them.
void MessageLedger::report_sizes(const Pair& pair, Findings& findings) {
  const std::uint64_t both = std::min(pair.sent.count, pair.received.count);
  if (both == 0 || pair.sent.most <= pair.received.least) return;
  // It is unknown which of them match.
  if (pair.sent.cancelled + pair.received.cancelled > 0) return;
  if (pair.sent.count == pair.received.count && pair.sent.sizes == pair.received.sizes) return;
  if (findings.full()) return;
  ChannelWalk sends(*set_, *communicators_, *progress_, pair.channel, false);
  ChannelWalk receives(*set_, *communicators_, *progress_, pair.channel, true);
  for (std::uint64_t i = 0; i < both && sends.next() && receives.next(); ++i) {
    const std::int64_t room = receives.message().bytes;
    if (room < 0 || sends.message().bytes <= room) continue;
    const std::int32_t rank =
        communicators_->world_rank(pair.channel.group, pair.channel.destination);
    findings.add({Severity::error, rank, receives.file(), receives.message().line,
                  "has room for " + std::to_string(room) + " bytes, and the message " +
                      described(*communicators_, pair.channel) + " has " +
                      std::to_string(sends.message().bytes) + " (" + sends.file() + ":" +
                      std::to_string(sends.message().line) + ")"});
    return;
  }
}

}  // namespace tisim
