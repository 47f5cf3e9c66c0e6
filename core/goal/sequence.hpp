// Converts a rank of a GOAL schedule to the lines of a trace, a sequential list of calls.
//
// Messages begin as soon as the schedule allows, as in LogGOPSim: each is a non-blocking call. Then
// comes the first computation that may begin; when none may, a wait for the messages that the first
// waiting operation depends on. A schedule may leave open which of several waits ends first. A
// sequence cannot: it uses the order of the schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goal/schedule.hpp"

namespace tisim {

class GoalSequence {
 public:
  // `speed`: volume per second of computation. Throws GoalError if no sequence of calls can express
  // the rank.
  GoalSequence(std::shared_ptr<const GoalSchedule> schedule, std::size_t rank, double speed);

  // Returns the next lines, about `bytes` bytes, each with its newline; empty after the last one.
  // Throws GoalError if operations wait for one another, or a volume is infinite.
  std::string take(std::size_t bytes);

  // How often the schedule left open which of several messages ends first, and the first operation
  // that waited in that case.
  std::uint64_t open_waits() const { return open_waits_; }
  std::uint32_t first_open() const { return first_open_; }

 private:
  using Numbers = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;
  struct State {
    std::uint32_t ends = 0, starts = 0;  // unsatisfied dependencies on ends and starts
    std::uint32_t under_way = 0;         // number of `ends` that have begun
    std::uint32_t request = 0;
    bool has_ended = false;
  };

  void find_earlier();
  void sort(std::uint32_t op);
  void post(std::uint32_t op);
  void compute(std::uint32_t op);
  void wait();
  void begin(std::uint32_t op);
  void end(std::uint32_t op, bool was_under_way);
  void complete(const std::vector<std::uint32_t>& ops);
  void write_volume();
  void line(std::string_view word);
  template <class Number>
  void write(std::string_view before, Number value);
  std::span<const std::uint32_t> earlier(std::uint32_t op) const {
    return std::span(earlier_).subspan(first_[op], first_[op + 1] - first_[op]);
  }

  std::shared_ptr<const GoalSchedule> schedule_;
  const GoalRank& rank_;
  std::size_t number_;
  double speed_;
  std::vector<State> states_;
  // For each operation, the operations whose end it depends on from the start, in order.
  std::vector<std::uint32_t> first_, earlier_;
  Numbers messages_, computations_;  // ready to begin
  std::set<std::uint32_t> waiting_;  // only for the end of messages in flight
  Numbers free_requests_;
  std::uint32_t requests_ = 0;  // request numbers allocated
  std::size_t left_;
  double volume_ = 0;  // computed since the last line
  std::string text_;
  bool is_at_begin_ = true, is_at_end_ = false;
  std::uint64_t open_waits_ = 0;
  std::uint32_t first_open_ = 0;
};

}  // namespace tisim
