// The causes of waits: the one definition, for the report, the viewer and `--breakdown`.
//
// A wait ends when a path (StatePaths) ends that leads to the rank that is waited for; the rank
// that waits came there on a path of its own. Both have a common beginning. From where they part
// the late path takes longer, by just the wait, and what it has more is the cause (after Boehme et
// al., 2010, who compare the two ranks since they last synchronised): parts in one state that are
// alike on both paths cancel, and what the rank that waits has more than the other cancels the
// smallest of what is left. docs/adr/0080-causes-of-waits.md has the reasons.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timeline/critical_path.hpp"

namespace tisim {

// How much of a wait a state explains, or the message that ended it (`state` is then transfer).
// `row` counts the states; kNone: the paths parted too long ago.
struct CauseShare {
  std::uint32_t row;
  std::uint8_t state;
  double seconds;
};

// Waits due to one state, or to all of a rank of one kind: the seconds that others waited, and the
// number of those ranks.
struct CauseSum {
  double seconds = 0.0;
  std::uint32_t ranks = 0;
  std::uint32_t last = 0;  // the last of these ranks, plus 1

  void add(std::int32_t rank, double more) {
    seconds += more;
    const auto next = static_cast<std::uint32_t>(rank) + 1;
    ranks += last == next ? 0 : 1;
    last = next;
  }
};

// The part of one wait that one state explains; both count the states.
struct ExplainedWait {
  std::uint32_t row;
  std::uint32_t wait;
  double seconds;
};

// Sums over all waits: by state, and by rank and State. `explained` is ordered by the rank that
// waits.
struct CauseSums {
  std::vector<CauseSum> by_row, by_rank;
  std::vector<ExplainedWait> explained;
};

class WaitCauses {
 public:
  // As StatePaths.
  WaitCauses(std::span<const StateRow> states, std::size_t ranks)
      : states_(states), paths_(states, ranks) {}

  const StatePaths& paths() const { return paths_; }
  // The causes of a wait: shares that add up to it, the latest first. None if it is not a wait.
  std::vector<CauseShare> of(std::uint32_t row) const;
  // The states on the late path since both parted, the latest first, with the waits that it jumps
  // over: those of one rank follow one another.
  std::vector<std::uint32_t> late_path(std::uint32_t row) const;
  CauseSums sums() const;

 private:
  // A part of the late path, or of that of the rank that waits.
  struct Part {
    double seconds;
    std::uint32_t row;
    std::uint8_t state;
    bool is_late;
  };
  // The order of parts: by their state and their length.
  struct Length {
    double seconds;
    std::uint32_t part;
    std::uint8_t state;
  };
  // Kept from one wait to the next.
  struct Room {
    std::vector<Part> parts;
    std::vector<Length> order;
    std::vector<std::uint32_t> open;
    std::vector<CauseShare> shares;
  };
  // The place of a wait; kNone: the state is none.
  std::uint32_t place_of(std::uint32_t row) const;
  std::uint32_t place_in_rank(std::uint32_t row) const;
  // Walks both paths of the wait at a place back to where they part.
  void walk(std::uint32_t place, std::vector<Part>& parts) const;
  static void explain(Room& room);

  std::span<const StateRow> states_;
  StatePaths paths_;
};

}  // namespace tisim
