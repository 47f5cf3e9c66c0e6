// Chains of computations and transfers that determine when something happens.
//
// The path goes backwards from a rank's state at some time: through the rank's states until a
// message woke it, through the transfer of that message, and on from the rank whose call started
// the transfer; from a wait, on from the rank that was waited for. Each part begins where the
// previous one on the path ended. The path from the end of the rank that finishes last is the
// critical path: its parts add up to the simulated time.
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
  std::uint8_t kind;                 // of the action; of a transfer, that of the woken rank
};

class StatePaths {
 public:
  // `states`: in order of their ends; they must outlive this. Throws std::invalid_argument if one
  // is of a rank not below `ranks`. Everything begins at 0.
  StatePaths(std::span<const StateRow> states, std::size_t ranks);

  // A state up to a time. `place` numbers the states by rank and time.
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

  // The state of a rank just before a time; none where the states begin.
  Node at(std::int32_t rank, double time) const;
  // The previous state of the same rank.
  Node previous(std::uint32_t place) const;
  // The predecessor of the node on its path, and the part between them, possibly of length 0.
  Node step(Node node, PathPart& part) const;
  // The parts of the path to a time of a rank, latest first.
  std::vector<PathPart> path(std::int32_t rank, double time) const;

 private:
  std::span<const StateRow> states_;
  std::vector<std::uint32_t> rows_;   // indices into `states_`, by rank and end
  std::vector<std::uint32_t> first_;  // the first of each rank
};

// True if a rank waits for a known other rank.
inline bool is_wait(const StateRow& row) {
  return row.state >= static_cast<std::uint8_t>(State::late_sender) && row.cause >= 0;
}

}  // namespace tisim
