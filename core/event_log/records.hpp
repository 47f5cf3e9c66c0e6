// Records of the event log: what each rank did, what held it up, and every message.
//
// Records are plain and small; what can be derived from them is derived by whoever reads them
// (`timeline/`), perhaps on another core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/vocabulary/call.hpp"

namespace tisim {

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
  std::int8_t operation;  // Operation of a collective or file call, else -1
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

}  // namespace tisim
