// MPI matching: posted receives and unexpected messages.
//
// Messages of one (source, destination, tag, context) wait in one *channel*, in order: sends or
// receives, never both. Wildcard receives wait in channels of their own; each destination counts
// them, so that programs without wildcards never search.
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

// A message, from the posting of its send or receive until both sides have released it.
enum class MessageState : std::uint8_t {
  posted_receive,  // waits for its send
  unexpected,      // waits for its receive (an eager one may be in flight or have arrived)
  matched          // both sides are known
};

inline constexpr std::int32_t kBlockingCall = -1;  // a rank waits for the message itself
inline constexpr std::int32_t kNoRequest = -2;     // that side does not wait

// There may be millions of them. A non-blocking read or write of a file is a matched message
// without a receiver that is not carried by any host pair (io/file/nonblocking_accesses.hpp).
struct Message {
  std::int64_t bytes = 0;  // size of the send once known, of the buffer before
  std::int32_t source = kAnySource;
  std::int32_t destination = 0;
  std::int32_t tag = 0;
  std::int32_t context = 0;
  std::int32_t pair = -1;  // host pair of the network, or connection; known from the sender
  std::int32_t next = -1;  // next message in its channel
  // Neighbours among the destination's unexpected messages, by arrival. For a posted receive,
  // `older` is its predecessor in the channel, undefined for the first.
  std::int32_t older = -1;
  std::int32_t newer = -1;
  std::uint32_t posted = 0;  // order of posting
  // For each side: its request, or one of the constants above. If the message holds the request:
  // its posting order in the rank.
  std::int32_t request[2] = {kNoRequest, kNoRequest};
  MessageState state = MessageState::posted_receive;
  Side first_waiter = kSender;  // side that began to wait first
  std::uint8_t holders : 2 = 0;
  // Bits by side: the request of a blocking collective's schedule is stored in the message itself.
  std::uint8_t holds_request : 2 = 0;
  std::uint8_t awaited : 2 = 0;  // whether a held request is awaited
  bool waited : 1 = false;
  bool detached : 1 = false;  // the sender continued at once
  bool flowing : 1 = false;   // its transfer has started or is queued
  bool arrived : 1 = false;   // its transfer is over
  // Over FIFO connections (class Handshake)
  bool request_read : 1 = false;  // by the receiver
  bool started : 1 = false;       // the first packet of its body was first in its connection
  bool sent : 1 = false;          // the sender is done with it, although it has not arrived
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

  // Finds or creates the channel of a key. The reference is valid until the next call.
  Channel& channel(std::int32_t source, std::int32_t destination, std::int32_t tag,
                   std::int32_t context) {
    const Pattern key{source, destination, tag, context};
    if (key == recent_) return channels_[static_cast<std::size_t>(recent_channel_)];
    return find_channel(key);
  }

  // Takes the posted receive that matches a send of this channel; -1 if none.
  std::int32_t take_receive(Channel& channel);
  // Takes the unexpected message that matches a receive; -1 if none. `peek` leaves it there.
  std::int32_t take_message(std::int32_t source, std::int32_t destination, std::int32_t tag,
                            std::int32_t context);
  std::int32_t peek(std::int32_t source, std::int32_t destination, std::int32_t tag,
                    std::int32_t context);

  void post_receive(std::int32_t message);  // fields source .. context are set
  void leave_unexpected(std::int32_t message);
  // Removes a waiting message.
  void withdraw(std::int32_t message);

  // Calls f(channel) for each channel with waiting messages, in no particular order.
  template <class F>
  void for_each_waiting(F f) const {
    for (const Channel& channel : channels_) {
      if (channel.head >= 0) f(channel);
    }
  }

  // Checks that every message waits in the channel of its key, in posting order, and that inbox
  // counts match. Throws BrokenInvariant.
  void verify() const;

 private:
  friend struct MatcherTesting;  // corrupts the state to test `verify`

  struct Pattern {
    std::int32_t source, destination, tag, context;
    // Branch-free: which part differs is unpredictable.
    bool operator==(const Pattern& other) const {
      return ((source ^ other.source) | (destination ^ other.destination) | (tag ^ other.tag) |
              (context ^ other.context)) == 0;
    }
  };
  struct Inbox {
    std::int32_t oldest = -1, newest = -1;  // unexpected messages
    std::int32_t wildcards = 0;             // posted wildcard receives
    std::int32_t count = 0;                 // unexpected messages
    bool has_backlogs = false;
  };
  // The unexpected messages that one kind of wildcard receive can take, by arrival. Built after one
  // long search through all messages of a destination. Entries matched otherwise in the meantime
  // are dropped when encountered.
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
  // Number of channels kept even if no messages wait in them.
  static constexpr std::size_t kKept = 32768;
  static constexpr std::size_t kKeptOfRank = 64;
  std::vector<Channel> channels_;
  std::size_t busy_ = 0;  // channels with waiting messages
  // Idle channels are dropped when fewer than this are busy: the program no longer needs so many
  // soon, as after the messages of an all-to-all have matched.
  std::size_t fewest_busy_ = 0;
  NumberIndex index_;  // finds channels
  // Cache of the last lookup; a send or receive looks up its channel several times.
  Pattern recent_ = kNobody;
  std::int32_t recent_channel_ = -1;
  std::size_t most_channels_ = kKept;  // above this, idle channels are dropped
  std::uint32_t posted_ = 0;
};

}  // namespace tisim
