// The optional event log of a simulation: actions, states and messages as they happen.
//
// A closed log costs one flag test per event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/vocabulary/call.hpp"

namespace tisim {

// Records of the event log: what each rank did, what delayed it, and every message.
//
// Records are small PODs. Readers (`timeline/`) derive everything else, possibly on another core.

inline constexpr std::int64_t kNoMessage = -1;
inline constexpr double kNoTime = -1.0;  // time of an event that did not happen

// Start of a rank's action. It ends at the rank's next action of the same or a lower level; an
// action of kind `end` is logged when no other follows.
struct ActionStart {
  double time;  // seconds
  union {
    double amount;       // flops of a compute, seconds of a sleep
    std::int64_t bytes;  // size of a message; of a collective, bytes the rank contributes by its
                         // arguments; of a wait, destination rank of its request
  };
  std::int64_t received;  // of a collective, bytes the rank receives by its arguments
  std::int32_t rank;
  std::int32_t peer;     // world rank; of a wait, as in the trace; of a collective, its root
  std::int32_t tag;      // of a collective, number of its communicator in the simulation
  std::int32_t members;  // number of ranks of that communicator
  std::uint32_t line;
  std::uint16_t comm;     // the communicator as named in the trace
  std::uint8_t kind;      // Kind
  std::int8_t operation;  // Operation of a collective, file or window call, else -1
  std::uint8_t level;     // 0: a line of the trace, 1: part of a collective
  std::uint8_t idle;      // a wait or test for a request that is no longer pending
};

// Interval in which a rank does not advance. The states of a rank are contiguous: a rank takes no
// time for anything else.
struct StateRecord {
  double start, end;  // seconds
  std::int32_t rank;
  std::uint8_t phase;  // Phase
};

// The message whose arrival ended a state.
struct WaitRecord {
  double sent, received;  // dates at which its send and its receive were posted
  double started;         // start of its transfer, whose end is the end of the state
  std::int64_t message;   // message number
  std::int64_t bytes;
  std::int32_t source, destination;
  std::uint8_t receives;  // whether the waiting rank is the receiver
};

struct SentRecord {
  std::int64_t message;
  std::int64_t bytes;
  std::int32_t source;
};

// A message completed by its receiver, or never received.
struct MessageRecord {
  double sent = kNoTime, received = kNoTime;    // dates of posting its send and receive
  double started = kNoTime, arrived = kNoTime;  // start and end of its transfer
  std::int64_t number = kNoMessage;
  std::int64_t bytes = 0;
  std::int32_t source = 0, destination = 0, tag = 0;
  std::uint8_t collective = 0;  // whether it is part of a collective
  std::uint8_t detached = 0;    // whether its sender continued at once
};

enum class Entry : std::uint8_t { action, state, wait, sent, received, unattended, lost };

// Records by kind, each in order of occurrence; `order` gives the interleaving of the kinds. `wait`
// stands for a state and its wait record.
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

// Returns the root of a collective over `members` ranks, or -1 if it has none.
std::int32_t root_of(const Call& call, std::int32_t members);

class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Starts logging the events of `ranks` ranks. `room`: entries after which the log is full.
  void open(std::size_t room, std::size_t ranks, double now);
  bool is_open() const { return is_open_; }
  bool is_full() const { return is_open_ && records_.order.size() >= room_; }
  // `spare`: records taken before, whose memory is reused.
  Records take(Records spare = {});

  void add_ranks(std::size_t count, double now);

  void begin_action(const ActionStart& action) {
    records_.order.push_back(Entry::action);
    records_.actions.push_back(action);
  }

  void stop_rank(std::int32_t rank, double now) { stopped_[at(rank)].since = now; }
  // Notes that `message`, which the rank waits for, wakes it.
  void note_waker(std::int32_t rank, std::int32_t message) { stopped_[at(rank)].waker = message; }
  // If this message woke the rank, records a file access as the waker instead.
  void mark_access(std::int32_t rank, std::int32_t message) {
    if (stopped_[at(rank)].waker == message) stopped_[at(rank)].waker = kAccess;
  }
  bool was_woken_by_access(std::int32_t rank) const { return stopped_[at(rank)].waker == kAccess; }
  // The rank continues; until `now` it was in `phase` (Phase).
  void continue_rank(std::int32_t rank, std::uint8_t phase, double now);

  // Messages are given by their index in the matcher.
  struct SentMessage {
    std::int64_t bytes;
    std::int32_t source, destination, tag;
    bool collective, detached;
  };
  void post_send(std::int32_t index, const SentMessage& message, double now);
  void post_receive(std::int32_t index, double now) { under_way(index).received = now; }
  void start_transfer(std::int32_t index, double now) { under_way(index).started = now; }
  void arrive(std::int32_t index, double now) { under_way(index).arrived = now; }
  void complete_receive(std::int32_t index);     // its receiver continues
  void complete_unattended(std::int32_t index);  // no rank waits for it
  void withdraw_send(std::int32_t index);        // it is never received
  void release(std::int32_t index) { under_way(index) = MessageRecord{}; }
  // The simulation is over: messages sent and never received are lost.
  void close_messages();

 private:
  static constexpr std::int32_t kAccess = -2;

  struct Stopped {
    double since = 0.0;  // date at which the rank stopped advancing
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
  std::vector<Stopped> stopped_;          // by rank
  std::vector<MessageRecord> under_way_;  // by message index
  std::int64_t numbers_ = 0;
};

}  // namespace tisim
