// The activity of a rank at each time, and its wait states.
//
// The wait states are those of Wolf and Mohr (2003) and of Scalasca. A state that a message ends is
// split in two: until the arrival of the other side the rank waits for it; from then on the message
// is in flight. In a collective, arrival means entering it.
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
  custom,         // in a custom action, or driven externally
  overhead,       // CPU overhead of sends and receives
  polling,        // in tests and probes
  io,             // reads from or writes to a disk
  transfer,       // the message is in flight
  late_sender,    // the send has not been posted yet
  late_receiver,  // a sender needs its receive, which has not been posted yet
  barrier,        // some ranks have not entered the barrier
  n_to_n,         // or an all-to-all collective
  broadcast,      // the root, or the rank that forwards the data, has not entered
  reduce,         // ranks whose data are collected have not entered
  scan,           // the previous rank has not entered
};
inline constexpr int kStates = static_cast<int>(State::scan) + 1;
const std::vector<const char*>& state_names();

// The wait state of a rank in a collective operation that waits for data of late ranks.
State wait_state_of(Operation operation);

// A period in which a rank is in one state. The rows of a rank tile its time.
struct StateRow {
  double start, end;   // seconds
  double started;      // start of the transfer of the message whose arrival is the end; kNoTime:
                       // there is none, or its transfer begins at the end
  std::int64_t bytes;  // of that message
  std::int32_t rank;
  std::int32_t cause;  // the rank that was waited for, -1: none
  std::int32_t peer;   // the other end of the message, or the rank that ended the state; -1: none
  std::uint32_t line;  // of the action in the trace of the rank
  std::uint8_t state;
  std::uint8_t kind;      // of the action: an index in `kind_names`
  std::uint8_t receives;  // whether the rank receives the message
  std::uint8_t by_peer;   // whether the other end's call started the transfer
};

// Receives the states of all ranks in the order of their ends.
class StateSink {
 public:
  virtual ~StateSink() = default;
  // Number of ranks it has room for.
  virtual std::size_t ranks() const { return kAnyRanks; }
  virtual void row(const StateRow& row) = 0;
};

// Derives the states of ranks from the events. Guarantees that those of a rank are contiguous, from
// 0 to the end of its trace.
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
  // A collective, from the first rank's call to the last rank's return.
  struct Collective {
    std::int32_t entered = 0, left = 0;
    std::int32_t last = -1, root = -1;  // ranks
    double last_entered = 0.0;
    double root_entered = kNoTime;
  };
  // The collectives of a communicator that some ranks have not left yet.
  struct OpenCollectives {
    std::deque<Collective> open;
    std::uint64_t first = 0;  // number of the first one
  };
  // The collective that a rank is in.
  struct Membership {
    std::int32_t communicator = -1;
    std::uint64_t number = 0;
    double entered = 0.0;
  };
  // The end of a wait, the awaited rank, and the kind of wait state.
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
  std::unordered_map<std::uint64_t, std::uint64_t> calls_of_;  // by rank and communicator
  std::unordered_map<std::int32_t, OpenCollectives> open_;     // by communicator
  std::vector<Membership> memberships_;                        // by rank
  // Entry times of the senders of collective messages in flight.
  std::unordered_map<std::int64_t, double> sender_entered_;
};

}  // namespace tisim
