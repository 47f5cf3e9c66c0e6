// MPI matching: sends and receives that wait for one another.
//
// Messages of one (source, destination, tag, context) wait in one *channel*, in order: sends or
// receives, never both. Receives from any source or of any tag wait in channels of their own; a
// destination counts them, so that programs without wildcards never look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "mpi/rank.hpp"
#include "support/number_index.hpp"
#include "support/pool.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// A message from the moment its send or its receive is posted until both sides have let it go.
enum class MessageState : std::uint8_t {
  posted_receive,  // waits for its send
  unexpected,      // waits for its receive (an eager one may be on its way or arrived meanwhile)
  matched          // both ends are known
};

inline constexpr std::int32_t kBlockingCall = -1;  // a rank waits for the message itself
inline constexpr std::int32_t kNoRequest = -2;     // that end does not wait

// There may be millions of them. A read or write of a file that its rank does not wait for is a
// message to nobody: it is matched, and no pair of the network carries it
// (io/file/started_accesses.hpp).
struct Message {
  std::int64_t bytes = 0;  // of the send once it is known, of the buffer before
  std::int32_t source = kAnySource;
  std::int32_t destination = 0;
  std::int32_t tag = 0;
  std::int32_t context = 0;
  std::int32_t pair = -1;  // of the network, or its connection; known from the sender
  std::int32_t next = -1;  // in its channel
  // Unexpected messages of the destination, by arrival; of a posted receive, `older` is the one
  // before it in its channel, unless it is the first.
  std::int32_t older = -1;
  std::int32_t newer = -1;
  std::uint32_t posted = 0;  // order of posting
  // Of each end: its request, or one of the constants above. Where the message holds the request:
  // the order in which its rank has posted it.
  std::int32_t request[2] = {kNoRequest, kNoRequest};
  MessageState state = MessageState::posted_receive;
  Side first_waiter = kSender;  // whose wait was registered first
  std::uint8_t holders : 2 = 0;
  // Bits of the ends: the request of the schedule of a blocking collective has nothing of its own.
  std::uint8_t holds_request : 2 = 0;
  std::uint8_t awaited : 2 = 0;  // such a request is awaited
  bool waited : 1 = false;
  bool detached : 1 = false;  // the sender went on at once
  bool flowing : 1 = false;   // its transfer has started, or is queued
  bool arrived : 1 = false;   // and is over
  // Over FIFO connections (class Handshake)
  bool request_read : 1 = false;  // by the receiver
  bool started : 1 = false;       // the first of its body was first in its connection
  bool sent : 1 = false;          // the sender needs it no more, although it has not arrived
  bool withdrawn : 1 = false;     // its send was cancelled

  bool holds(Side side) const { return (holds_request >> side & 1) != 0; }
  bool is_complete(Side side) const { return arrived || (sent && side == kSender); }
};
static_assert(sizeof(Message) == 56);

struct Channel {
  std::int32_t source = 0, destination = 0, tag = 0, context = 0;
  std::int32_t head = -1, tail = -1;
  std::int32_t pair = -1;
};

class Matcher {
 public:
  void add_destinations(std::size_t count) { inboxes_.resize(inboxes_.size() + count); }
  Pool<Message>& messages() { return messages_; }
  const Pool<Message>& messages() const { return messages_; }
  Message& message(std::int32_t index) { return messages_[index]; }
  const Message& message(std::int32_t index) const { return messages_[index]; }
  std::size_t channels() const { return channels_.size(); }

  // The channel of a key, made when it is new. Valid until the next call.
  Channel& channel(std::int32_t source, std::int32_t destination, std::int32_t tag,
                   std::int32_t context) {
    const Pattern key{source, destination, tag, context};
    if (key == recent_) return channels_[static_cast<std::size_t>(recent_channel_)];
    return find_channel(key);
  }

  // The posted receive that a send of this channel takes, -1: none.
  std::int32_t take_receive(Channel& channel);
  // The unexpected message that such a receive takes, -1: none; `peek` leaves it there.
  std::int32_t take_message(std::int32_t source, std::int32_t destination, std::int32_t tag,
                            std::int32_t context);
  std::int32_t peek(std::int32_t source, std::int32_t destination, std::int32_t tag,
                    std::int32_t context);

  void post_receive(std::int32_t message);  // fields source .. context are set
  void leave_unexpected(std::int32_t message);
  // A message that waits does so no longer.
  void withdraw(std::int32_t message);

  // Calls f(channel) for each channel in which messages wait, in no particular order.
  template <class F>
  void for_each_waiting(F f) const {
    for (const Channel& channel : channels_) {
      if (channel.head >= 0) f(channel);
    }
  }

  // Every message waits in the one channel of its key and in the order of posting, and inboxes
  // count what is there. Throws BrokenInvariant.
  void verify() const;

 private:
  friend struct MatcherTesting;  // corrupts the state, to see `verify` object

  struct Pattern {
    std::int32_t source, destination, tag, context;
    // Which part differs cannot be predicted: no branch for each.
    bool operator==(const Pattern& other) const {
      return ((source ^ other.source) | (destination ^ other.destination) | (tag ^ other.tag) |
              (context ^ other.context)) == 0;
    }
  };
  struct Inbox {
    std::int32_t oldest = -1, newest = -1;  // unexpected messages
    std::int32_t wildcards = 0;             // posted receives that name no source or no tag
    std::int32_t count = 0;                 // unexpected messages
    bool has_backlogs = false;
  };
  // The unexpected messages that one kind of wildcard receive can take, by arrival. Made when
  // looking through all of a destination's was long once. Those that others have taken meanwhile
  // are dropped when they come up.
  struct BacklogEntry {
    std::int32_t message;
    std::uint32_t posted;
  };
  struct PatternHash {
    std::size_t operator()(const Pattern& p) const {
      return static_cast<std::size_t>(hash(p.source, p.destination, p.tag, p.context));
    }
  };
  using Backlog = std::deque<BacklogEntry>;

  static constexpr Pattern kNobody{0, -1, 0, 0};
  static std::uint64_t hash(std::int32_t source, std::int32_t destination, std::int32_t tag,
                            std::int32_t context);
  std::uint64_t hash_at(std::int32_t channel) const;
  Channel& find_channel(const Pattern& key);
  [[gnu::noinline]] void add_channel(const Pattern& key);
  void drop_idle();
  void count_channels();
  void append(Channel& channel, std::int32_t message);
  std::int32_t pop(Channel& channel);
  void unlink_unexpected(const Message& message);
  std::int32_t find_unexpected(const Pattern& pattern);
  bool fits(const Pattern& pattern, const Message& message) const;
  bool waits(const BacklogEntry& waiting) const;
  void make_backlog(const Pattern& pattern);
  void add_to_backlogs(std::int32_t message);
  bool holds(const Channel& channel, MessageState state) {
    return channel.head >= 0 && messages_[channel.head].state == state;
  }

  Pool<Message> messages_;
  std::vector<Inbox> inboxes_;
  std::unordered_map<Pattern, Backlog, PatternHash> backlogs_;
  // So many channels are kept even if no messages wait in them.
  static constexpr std::size_t kKept = 32768;
  static constexpr std::size_t kKeptOfRank = 64;
  std::vector<Channel> channels_;
  std::size_t busy_ = 0;  // those in which messages wait
  // With fewer of these the idle ones are dropped: there are more than programs need again soon, as
  // when the messages of an all-to-all have found each other.
  std::size_t fewest_busy_ = 0;
  NumberIndex index_;  // of them
  // The one that was asked for last; a send or receive does so several times.
  Pattern recent_ = kNobody;
  std::int32_t recent_channel_ = -1;
  std::size_t most_channels_ = kKept;  // before those that are idle are dropped
  std::uint32_t posted_ = 0;
};

}  // namespace tisim
