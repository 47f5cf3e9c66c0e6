// What happened, for those who ask: actions, what ranks were held up by, and messages.
//
// Records are collected in columns and handed over whenever `full` says so; a simulation without a
// recorder pays one test of a pointer for each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/matcher.hpp"
#include "engine/rank.hpp"

namespace tisim {

inline constexpr std::int64_t kNoMessage = -1;

// An action of a rank, from when it begins until the next one does.
struct ActionRecord {
  double start, end;  // seconds
  std::int64_t bytes;  // -1: it has none
  std::int32_t rank, peer, tag;
  std::uint32_t line;
  std::uint16_t comm;
  std::uint8_t kind;  // Kind
  std::int8_t operation;  // Operation of a collective, else -1
};

// Time that a rank spends not going on. Those of a rank follow one another without a gap, apart
// from instants: a rank takes no time for anything else.
struct StateRecord {
  double start, end;
  std::int64_t message;  // whose arrival ended it, or kNoMessage
  std::int32_t rank;
  std::uint8_t phase;  // Phase
  std::uint8_t kind;   // of the action
  std::int8_t operation;
  std::uint8_t unused = 0;
};

struct MessageRecord {
  double sent, received;  // when the send and the receive were posted
  double started, arrived;  // its transfer
  std::int64_t number;
  std::int64_t bytes;
  std::int32_t source, destination, tag;
  std::uint8_t collective;  // it belongs to one
  std::uint8_t detached;
  std::uint16_t unused = 0;
};

class Recorder {
 public:
  // Room for that many records of each kind before they have to be taken.
  explicit Recorder(std::size_t room) : room_(room) {}

  bool full() const {
    return actions.size() >= room_ || states.size() >= room_ || messages.size() >= room_;
  }

  void begin_action(const Rank& rank, std::int32_t index, double now, std::int8_t operation);
  void end_action(std::int32_t index, double now);

  void block(std::int32_t index, double now) { open_[at(index)].blocked = now; }
  void unblock(const Rank& rank, std::int32_t index, double now);
  // The message whose arrival wakes the rank.
  void wake(std::int32_t index, std::int32_t message) {
    open_[at(index)].waker = times_[at(message)].number;
  }

  void post_send(std::int32_t message, double now) { times(message).sent = now; }
  void post_receive(std::int32_t message, double now) { times(message).received = now; }
  void start(std::int32_t message, double now) { times(message).started = now; }
  // It has arrived and both its ends are known, or will never be.
  void arrive(std::int32_t message, double now) { times(message).arrived = now; }
  void finish(std::int32_t message, const Message& record);

  void add_ranks(std::size_t count) { open_.resize(open_.size() + count); }

  std::vector<ActionRecord> actions;
  std::vector<StateRecord> states;
  std::vector<MessageRecord> messages;

 private:
  struct Open {
    ActionRecord action{};
    bool has_action = false;
    double blocked = 0.0;
    std::int64_t waker = kNoMessage;
  };
  struct Times {
    double sent = -1, received = -1, started = -1, arrived = -1;
    std::int64_t number = kNoMessage;
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  Times& times(std::int32_t message);

  std::size_t room_;
  std::vector<Open> open_;    // of each rank
  std::vector<Times> times_;  // of each message that is under way
  std::int64_t numbers_ = 0;
};

}  // namespace tisim
