// Replays GOAL schedules on a platform, computing when each operation begins and ends.
//
// As in LogGOPSim, an operation begins when its dependencies are satisfied and its processor is
// free; the one that became ready first goes first. A send occupies its processor for an overhead,
// the network transfers its bytes, and the receiver's processor of the same number is occupied for
// another overhead. Sends from a threshold size on complete when the message is received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "goal/schedule.hpp"
#include "goal/unmatched.hpp"
#include "simulation/simulation.hpp"

namespace tisim {

class GoalRun {
 public:
  // `network`: if null, messages take no time. `hosts`, `seconds`: by rank, its host and the
  // seconds per nanosecond of computation. `model`: overheads of sends and receives, and the
  // rendezvous threshold; if null, none apply. Throws std::invalid_argument.
  GoalRun(std::shared_ptr<const GoalSchedule> schedule, Simulation* network,
          std::vector<std::int32_t> hosts, std::vector<double> seconds, const Model* model);
  GoalRun(const GoalRun&) = delete;
  GoalRun& operator=(const GoalRun&) = delete;

  // Runs up to `events` events. `need_route`: add the route given by `Simulation::missing_route`
  // and call again; `deadlock`: some remaining operations can never begin or end.
  Stop run(std::int64_t events);
  double now() const { return now_; }
  std::int64_t done() const { return done_; }
  std::int64_t operations() const { return operations_; }
  std::int64_t messages() const { return messages_sent_; }
  // Number of messages not received.
  std::int64_t unexpected() const;
  // By rank: when its last operation ended and its processors are free.
  std::vector<double> ends() const;

  struct PendingOperation {
    std::int32_t rank;
    std::uint32_t op, line;  // line: 0 in a binary schedule
    bool has_begun;
  };
  // Returns up to `most` operations that have begun but not ended, or still have dependencies.
  std::vector<PendingOperation> pending_operations(std::size_t most) const;

 private:
  enum class EventKind : std::uint8_t { op, inject, arrival, processor };
  struct Event {
    double date;
    double instant;  // the date in whole picoseconds, so that rounding does not separate events
    std::uint64_t number;  // order at one instant: the smaller number first
    EventKind kind;
    std::int32_t rank;
    std::uint32_t index;  // index of the operation, message or processor
    bool operator>(const Event& other) const {
      return std::pair(instant, number) > std::pair(other.instant, other.number);
    }
  };
  using Queue = std::priority_queue<Event, std::vector<Event>, std::greater<>>;
  struct Younger {
    bool operator()(const Event& a, const Event& b) const { return a.number > b.number; }
  };
  struct Processor {
    double free = 0;  // date from which it is free
    std::priority_queue<Event, std::vector<Event>, Younger> waiting;
  };
  struct Message {
    std::int32_t from = 0, to = 0;
    std::uint32_t op = 0;  // the sender's operation
    std::uint64_t number = 0;
    double taken = 0;  // date at which the receiver's processor has taken it in
  };
  enum class State : std::uint8_t { waiting, begun, ended };
  struct Rank {
    std::vector<double> ready;  // by operation: when its dependencies allow it to begin
    std::vector<std::uint32_t> needs;
    std::vector<State> states;
    Unmatched posted;                  // receives
    Unmatched unexpected;              // messages
    std::vector<std::uint32_t> freed;  // operations that may begin
    std::vector<Processor> processors;
    double last = 0;  // date of its last operation's end
  };

  const GoalOp& op_of(std::int32_t rank, std::uint32_t op) const {
    return schedule_->ranks[static_cast<std::size_t>(rank)].ops[op];
  }
  const Overheads& overheads_of(std::int32_t rank) const;
  Rank& rank_of(std::int32_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  // Returns a processor of the rank, created on first use by the rank or by a sender to it.
  Processor& processor(std::int32_t rank, std::uint32_t cpu) {
    std::vector<Processor>& processors = rank_of(rank).processors;
    if (cpu >= processors.size()) processors.resize(cpu + 1);
    return processors[cpu];
  }
  Stop advance_network();
  void push(double date, std::uint64_t number, EventKind kind, std::int32_t rank,
            std::uint32_t index);
  void begin(std::int32_t rank, std::uint32_t op, double date);
  void end(std::int32_t rank, std::uint32_t op, double date);
  void allow(std::int32_t rank, std::span<const std::uint32_t> ops, double date);
  void start_freed();
  bool take_processor(const Event& event, std::uint32_t cpu);
  void wake_processor(const Event& event);
  bool act(const Event& event);
  void operate(const Event& event);
  bool inject(const Event& event);
  void receive(std::int32_t rank, std::uint32_t op, double date);
  void arrive(const Event& event);
  bool rendezvous(const Message& message) const {
    return op_of(message.from, message.op).amount >= threshold_;
  }

  std::shared_ptr<const GoalSchedule> schedule_;
  Simulation* network_;
  std::vector<std::int32_t> hosts_;
  std::vector<double> seconds_;
  std::vector<Overheads> overheads_;  // by kind of host
  std::int64_t threshold_;
  std::vector<Rank> ranks_;
  Queue queue_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::unordered_map<std::int32_t, std::uint32_t> under_way_;  // by activity
  std::vector<std::int32_t> touched_;                          // ranks with freed operations
  double now_ = 0;
  std::uint64_t numbers_ = 0;
  std::int64_t done_ = 0, operations_ = 0, messages_sent_ = 0;
};

}  // namespace tisim
