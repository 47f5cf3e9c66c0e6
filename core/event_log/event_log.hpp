// The event log of a simulation, for those who ask: actions, states and messages as they happen.
//
// A simulation whose log is closed pays one test of a flag for each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/vocabulary/call.hpp"

namespace tisim {

// Records of the event log: what each rank did, what held it up, and every message.
//
// Records are plain and small; what can be derived from them is derived by whoever reads them
// (`timeline/`), perhaps on another core.

inline constexpr std::int64_t kNoMessage = -1;
inline constexpr double kNoTime = -1.0;  // the time of what did not happen

// An action of a rank begins. It ends when the next of the same rank and level does, or one of a
// lower level; of kind `end` when nothing follows.
struct ActionStart {
  double time;  // seconds
  union {
    double amount;       // flops of a compute, seconds of a sleep
    std::int64_t bytes;  // of a message; of a collective, those that the rank contributes by its
                         // arguments; of a wait the destination rank of its request
  };
  std::int64_t received;  // of a collective: bytes that the rank gets by its arguments
  std::int32_t rank;
  std::int32_t peer;     // in the world; of a wait as the trace names it; of a collective its root
  std::int32_t tag;      // of a collective: the number of its communicator in the simulation
  std::int32_t members;  // ranks of that communicator
  std::uint32_t line;
  std::uint16_t comm;     // the communicator as the trace names it
  std::uint8_t kind;      // Kind
  std::int8_t operation;  // Operation of a collective, file or window call, else -1
  std::uint8_t level;     // 0: a line of the trace, 1: a part of a collective
  std::uint8_t idle;      // a wait or test for a request that is no longer pending
};

// Time that a rank spends not going on. Those of a rank follow one another without a gap: a rank
// takes no time for anything else.
struct StateRecord {
  double start, end;  // seconds
  std::int32_t rank;
  std::uint8_t phase;  // Phase
};

// The message whose arrival ended a state.
struct WaitRecord {
  double sent, received;  // when its send and its receive were posted
  double started;         // when its transfer did, which ended with the state
  std::int64_t message;   // its number
  std::int64_t bytes;
  std::int32_t source, destination;
  std::uint8_t receives;  // the rank that waited receives it
};

struct SentRecord {
  std::int64_t message;
  std::int64_t bytes;
  std::int32_t source;
};

// A message that its receiver has completed, or that nobody received.
struct MessageRecord {
  double sent = kNoTime, received = kNoTime;    // when its send and its receive were posted
  double started = kNoTime, arrived = kNoTime;  // its transfer
  std::int64_t number = kNoMessage;
  std::int64_t bytes = 0;
  std::int32_t source = 0, destination = 0, tag = 0;
  std::uint8_t collective = 0;  // it belongs to one
  std::uint8_t detached = 0;    // its sender went on at once
};

enum class Entry : std::uint8_t { action, state, wait, sent, received, unattended, lost };

// Records of one kind in the order in which they happened, and in `order` how the kinds follow one
// another. `wait` stands for a state and the wait that belongs to it.
struct Records {
  std::vector<Entry> order;
  std::vector<ActionStart> actions;
  std::vector<StateRecord> states;
  std::vector<WaitRecord> waits;
  std::vector<SentRecord> sent;
  std::vector<MessageRecord> messages;

  void reserve(std::size_t room);
  void clear();
};

// The root of a collective over `members` ranks, -1: it has none.
std::int32_t root_of(const Call& call, std::int32_t members);

class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // From now on events are logged, of that many ranks. `room`: entries before they should be taken.
  void open(std::size_t room, std::size_t ranks, double now);
  bool is_open() const { return is_open_; }
  bool is_full() const { return is_open_ && records_.order.size() >= room_; }
  // `spare`: what was taken before, whose memory is used again.
  Records take(Records spare = {});

  // More ranks.
  void add_ranks(std::size_t count, double now);

  void begin_action(const ActionStart& action) {
    records_.order.push_back(Entry::action);
    records_.actions.push_back(action);
  }

  void stop_rank(std::int32_t rank, double now) { stopped_[at(rank)].since = now; }
  // `message` is what the rank waits for, and wakes it.
  void note_waker(std::int32_t rank, std::int32_t message) { stopped_[at(rank)].waker = message; }
  // If this message has woken the rank, the waker is not a message but the access of a file.
  void mark_access(std::int32_t rank, std::int32_t message) {
    if (stopped_[at(rank)].waker == message) stopped_[at(rank)].waker = kAccess;
  }
  bool was_woken_by_access(std::int32_t rank) const { return stopped_[at(rank)].waker == kAccess; }
  // The rank goes on; until now it was in `phase` (Phase).
  void continue_rank(std::int32_t rank, std::uint8_t phase, double now);

  // Messages by their index in the matcher.
  struct SentMessage {
    std::int64_t bytes;
    std::int32_t source, destination, tag;
    bool collective, detached;
  };
  void post_send(std::int32_t index, const SentMessage& message, double now);
  void post_receive(std::int32_t index, double now) { under_way(index).received = now; }
  void start_transfer(std::int32_t index, double now) { under_way(index).started = now; }
  void arrive(std::int32_t index, double now) { under_way(index).arrived = now; }
  void complete_receive(std::int32_t index);     // its receiver goes on
  void complete_unattended(std::int32_t index);  // nobody waits for it
  void withdraw_send(std::int32_t index);        // it is never received
  void release(std::int32_t index) { under_way(index) = MessageRecord{}; }
  // Nothing happens any more: what was sent and never received is lost.
  void close_messages();

 private:
  static constexpr std::int32_t kAccess = -2;

  struct Stopped {
    double since = 0.0;  // when the rank stopped going on
    std::int32_t waker = -1;
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  MessageRecord& under_way(std::int32_t index) {
    if (at(index) >= under_way_.size()) under_way_.resize(2 * at(index) + 64);
    return under_way_[at(index)];
  }

  bool is_open_ = false;
  std::size_t room_ = 0;
  Records records_;
  std::vector<Stopped> stopped_;          // each rank
  std::vector<MessageRecord> under_way_;  // each message
  std::int64_t numbers_ = 0;
};

}  // namespace tisim
