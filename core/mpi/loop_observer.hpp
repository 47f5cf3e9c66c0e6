// Positions of the ranks in the loops of their traces, used to skip repetitions
// (simulation/steady_states.hpp, ADR 31).
//
// The observer sees each batch of operations that a rank reads. Without it, a simulation reads
// across loop turns at no extra cost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "clock/clock.hpp"
#include "mpi/rank.hpp"
#include "trace/reader.hpp"

namespace tisim {

// Position of one rank in its loops, as of the last turn that it passed.
struct LoopPosition {
  std::uint64_t left = 0;        // repetitions left, including the current one; 0: not in a loop
  std::uint64_t length = 0;      // repetitions of the loop
  std::uint64_t loops = 0;       // loops entered
  std::uint64_t turns = 0;       // turns passed after a repetition, over all loops
  std::uint64_t actions = 0;     // actions of the rank at the turn
  std::uint64_t operations = 0;  // read since the turn
  std::uint64_t to_skip = 0;     // repetitions to skip at the next turn
  double date = 0.0;             // date of the turn, seconds
};

// An operation whose outcome depends on arrival order or on external input.
struct Obstacle {
  Kind kind = Kind::end;
  std::int32_t rank = 0;  // global rank
  std::uint32_t line = 0;
};

class LoopObserver {
 public:
  explicit LoopObserver(const Clock& clock) : clock_(clock) {}

  void add_ranks(std::size_t count) { positions_.resize(positions_.size() + count); }

  // A rank's reader has been opened: it stops at loops from here on, if it has any.
  void open(RankReader& reader);
  // Reads the rank's next operations, after the turns at its position.
  std::size_t read(Rank& rank, std::span<Op> ops);
  // A schedule of the rank receives from any source.
  void note_any_source(std::int32_t index, std::uint32_t line) { note({Kind::recv, index, line}); }

  const LoopPosition& operator[](std::int32_t index) const {
    return positions_[static_cast<std::size_t>(index)];
  }
  // Makes the rank skip this many of the repetitions after the current one.
  void skip(std::int32_t index, std::uint64_t repetitions, std::uint64_t actions);

  // Number of ranks whose traces have known loops.
  std::size_t readers() const { return readers_; }
  // A rank that has passed a turn within a loop since the last query; -1 if none.
  bool has_passed_turn() const { return last_turned_ >= 0; }
  std::int32_t take_last_turned() { return std::exchange(last_turned_, -1); }
  const std::optional<Obstacle>& obstacle() const { return obstacle_; }
  // Number of communicator creations and frees that ranks have started.
  std::uint64_t communicators_made() const { return communicators_made_; }
  // Operations read, and turns at which ranks stopped.
  std::uint64_t operations() const { return operations_; }
  std::uint64_t turns() const { return turns_; }
  // Ranks that do not stop at turns read across them; their loops are then unknown.
  void set_stops_at_turns(bool stops);

 private:
  void pass(std::int32_t index, const Rank& rank, const LoopTurn& turn);
  void inspect(std::int32_t index, std::span<const Op> ops);
  void note(const Obstacle& obstacle) {
    if (!obstacle_) obstacle_ = obstacle;
  }

  const Clock& clock_;
  std::vector<LoopPosition> positions_;  // by rank
  std::size_t readers_ = 0;
  std::int32_t last_turned_ = -1;
  std::optional<Obstacle> obstacle_;
  std::uint64_t communicators_made_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t turns_ = 0;
  bool stops_at_turns_ = true;
};

}  // namespace tisim
