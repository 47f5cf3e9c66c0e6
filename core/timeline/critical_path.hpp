// The chains of computations and transfers that decide when something happens.
//
// From what a rank has done by some time one goes back: through its states until a message woke it,
// through the transfer of that message, and on from the rank whose call started the transfer; where
// a rank waited, on from the rank that it waited for. Each part begins where the one before it
// ended. From the end of the rank that finishes last, that is the critical path: together the
// parts are the simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "timeline/states.hpp"

namespace tisim {

struct PathPart {
  double start, end;                 // seconds
  std::int64_t bytes;                // of a transfer
  std::int32_t source, destination;  // of a transfer; else both are the rank
  std::uint32_t line;                // of the action
  std::uint8_t state;                // State
  std::uint8_t kind;                 // of the action, of a transfer that of the rank that it woke
};

class StatePaths {
 public:
  // `states`: in the order of their ends; they outlive this. Throws std::invalid_argument where one
  // is of a rank that is not below `ranks`. Everything began at 0.
  StatePaths(std::span<const StateRow> states, std::size_t ranks);

  // A state up to a time. `place` counts the states by rank and time.
  struct Node {
    std::uint32_t place;
    double end;
    bool is_none() const { return place == kNone; }
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::size_t size() const { return rows_.size(); }
  std::size_t ranks() const { return first_.size() - 1; }
  std::uint32_t row_at(std::size_t place) const { return rows_[place]; }
  const StateRow& state_at(std::size_t place) const { return states_[rows_[place]]; }

  // The activity of a rank just before a time; none where the states begin.
  Node at(std::int32_t rank, double time) const;
  // The state of the same rank before that at a place.
  Node previous(std::uint32_t place) const;
  // The node and what came before it on its path; the part may have no length.
  Node step(Node node, PathPart& part) const;
  // The parts of the path to a time of a rank, the latest first.
  std::vector<PathPart> path(std::int32_t rank, double time) const;

 private:
  std::span<const StateRow> states_;
  std::vector<std::uint32_t> rows_;   // places of `states_`, by rank and end
  std::vector<std::uint32_t> first_;  // those of each rank
};

// True if a rank waits for another one, which is known.
inline bool is_wait(const StateRow& row) {
  return row.state >= static_cast<std::uint8_t>(State::late_sender) && row.cause >= 0;
}

}  // namespace tisim
