// Where the ranks of a simulation are in the loops of their traces, for whoever leaves repetitions
// out (simulation/steady_states.hpp, ADR 31).
//
// It is told of each batch of operations that a rank reads. A simulation without it reads on over
// the turns of loops, and pays nothing.
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

// Position of one rank in its loops, as of the last turn that it has passed.
struct LoopPosition {
  std::uint64_t left = 0;        // repetitions to come, that at hand included; 0: it is in no loop
  std::uint64_t length = 0;      // repetitions of the loop
  std::uint64_t loops = 0;       // that it has entered
  std::uint64_t turns = 0;       // that it has passed behind repetitions, of all loops
  std::uint64_t actions = 0;     // of the rank at the turn
  std::uint64_t operations = 0;  // read behind the turn
  std::uint64_t to_skip = 0;     // repetitions that it leaves out at the next turn
  double date = 0.0;             // of the turn, seconds
};

// An operation whose outcome depends on who comes first, or on something outside.
struct Obstacle {
  Kind kind = Kind::end;
  std::int32_t rank = 0;  // in the simulation
  std::uint32_t line = 0;
};

class LoopObserver {
 public:
  explicit LoopObserver(const Clock& clock) : clock_(clock) {}

  void add_ranks(std::size_t count) { positions_.resize(positions_.size() + count); }

  // The reader of a rank has been opened: it stops at loops from now on, if it knows any.
  void open(RankReader& reader);
  // The next operations of a rank, which are those behind the turns that it stands at.
  std::size_t read(Rank& rank, std::span<Op> ops);
  // A rank's schedule receives from any source.
  void note_any_source(std::int32_t index, std::uint32_t line) { note({Kind::recv, index, line}); }

  const LoopPosition& operator[](std::int32_t index) const {
    return positions_[static_cast<std::size_t>(index)];
  }
  // The rank leaves out so many of the repetitions that follow the one at hand.
  void skip(std::int32_t index, std::uint64_t repetitions, std::uint64_t actions);

  // How many ranks read traces with loops that are known.
  std::size_t readers() const { return readers_; }
  // A rank that has passed a turn within a loop since somebody asked; -1: none.
  bool has_turned() const { return last_turned_ >= 0; }
  std::int32_t take_last_turned() { return std::exchange(last_turned_, -1); }
  const std::optional<Obstacle>& obstacle() const { return obstacle_; }
  // Communicators that ranks have begun to make or free.
  std::uint64_t communicators_made() const { return communicators_made_; }
  // Operations that ranks have read, and turns at which they have stopped.
  std::uint64_t operations() const { return operations_; }
  std::uint64_t turns() const { return turns_; }
  // Ranks that do not stop at turns read on over them; the loops that they are in are unknown then.
  void stop_at_turns(bool stops);

 private:
  void pass(std::int32_t index, const Rank& rank, const LoopTurn& turn);
  void look_at(std::int32_t index, std::span<const Op> ops);
  void note(const Obstacle& obstacle) {
    if (!obstacle_) obstacle_ = obstacle;
  }

  const Clock& clock_;
  std::vector<LoopPosition> positions_;  // of each rank
  std::size_t readers_ = 0;
  std::int32_t last_turned_ = -1;
  std::optional<Obstacle> obstacle_;
  std::uint64_t communicators_made_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t turns_ = 0;
  bool stops_at_turns_ = true;
};

}  // namespace tisim
