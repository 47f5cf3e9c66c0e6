// The activity of a rank at a time, and the wait state that it is in.
//
// The wait states are those of Wolf and Mohr (2003) and Scalasca's analysis. A state that a message
// ends is cut in two: up to the time when the other side came, the rank waits for it; from then on
// the message is on its way. Within a collective `came` means: has entered it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timeline/playback.hpp"
#include "trace/vocabulary/table.hpp"

namespace tisim {

enum class State : std::uint8_t {
  compute,
  sleep,
  custom,         // in an action of the user's own, or driven from outside
  overhead,       // what the CPU pays for sends and receives
  polling,        // in tests and probes
  io,             // reads from a disk or writes to it
  transfer,       // the message is on its way
  late_sender,    // the send has not been posted yet
  late_receiver,  // a sender that needs its receiver, which has not been posted yet
  barrier,        // some have not entered the barrier
  n_to_n,         // or the collective from all to all
  broadcast,      // the root, or who passes the data on, has not entered
  reduce,         // those whose data are collected have not entered
  scan,           // the rank before has not entered
};
inline constexpr int kStates = static_cast<int>(State::scan) + 1;
const std::vector<const char*>& state_names();

// The wait state of a rank in a collective operation that needs data of ranks that are late.
State wait_state_of(Operation operation);

// A part of the time of a rank in which it is in one state. Those of a rank tile its time.
struct StateRow {
  double start, end;   // seconds
  double started;      // of the message whose arrival is the end: when its transfer began; kNoTime:
                       // there is none, or the end is when its transfer begins
  std::int64_t bytes;  // of that message
  std::int32_t rank;
  std::int32_t cause;  // the rank that was waited for, -1: none
  std::int32_t peer;   // the other end of the message, or who ended the state; -1: none
  std::uint32_t line;  // of the action in the trace of the rank
  std::uint8_t state;
  std::uint8_t kind;      // of the action: a place in `kind_names`
  std::uint8_t receives;  // the rank receives the message
  std::uint8_t by_peer;   // the other end's call started the transfer
};

// The sink of the states of all ranks, in the order of their ends.
class StateSink {
 public:
  virtual ~StateSink() = default;
  // How many ranks it has room for.
  virtual std::size_t ranks() const { return kAnyRanks; }
  virtual void row(const StateRow& row) = 0;
};

// Derives the states of ranks from the events. Promises that those of a rank follow one another
// without a gap, from 0 to the end of its trace.
class States : public Listener {
 public:
  void add(std::shared_ptr<StateSink> sink) { sinks_.push_back(std::move(sink)); }

  std::size_t ranks() const override;
  void begin(const OpenAction& action) override;
  void end(const OpenAction& action) override;
  void state(const StateRecord& state, const WaitRecord* wait, const OpenAction* action) override;
  void sent(const SentRecord& record, const OpenAction* action) override;
  void received(const MessageRecord& record, const OpenAction* action) override;

 private:
  // A collective, from its first rank's call to its last rank's return.
  struct Collective {
    std::int32_t entered = 0, left = 0;
    std::int32_t last = -1, root = -1;  // ranks
    double last_entered = 0.0;
    double root_entered = kNoTime;
  };
  // The collectives of a communicator that some rank has not left yet.
  struct OpenCollectives {
    std::deque<Collective> open;
    std::uint64_t first = 0;  // the number of the first of them
  };
  // The collective that a rank is in.
  struct Membership {
    std::int32_t communicator = -1;
    std::uint64_t number = 0;
    double entered = 0.0;
  };
  // Until when a rank waited, for which other rank, and which wait state that is.
  struct WaitCause {
    double until;
    std::int32_t rank;
    State state;
  };
  void row(const StateRow& row) const {
    for (const auto& sink : sinks_) sink->row(row);
  }
  Collective& collective_of(const Membership& membership);
  WaitCause cause_of(const StateRecord& state, const WaitRecord& wait, const OpenAction* action);
  WaitCause cause_in_collective(const StateRecord& state, const WaitRecord& wait,
                                const OpenAction& action);
  static WaitCause cause_in_message(const WaitRecord& wait);

  std::vector<std::shared_ptr<StateSink>> sinks_;
  std::unordered_map<std::uint64_t, std::uint64_t> calls_of_;  // of a rank on a communicator
  std::unordered_map<std::int32_t, OpenCollectives> open_;     // of a communicator
  std::vector<Membership> memberships_;                        // of each rank
  // When the senders of collectives' messages under way had entered.
  std::unordered_map<std::int64_t, double> sender_entered_;
};

}  // namespace tisim
