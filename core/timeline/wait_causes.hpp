// The causes of waits: the only definition, for the report, the viewer and `--breakdown`.
//
// A wait ends at the end of a path (StatePaths) that leads to the awaited rank; the waiting rank
// has a path of its own. Both have a common beginning. From the point where they diverge, the late
// path is longer by exactly the wait, and its surplus is the cause (after Boehme et al., 2010, who
// compare the two ranks since they last synchronised): equal parts in the same state on both paths
// cancel, and the surplus of the waiting rank cancels the smallest of the remaining parts.
// docs/adr/0080-causes-of-waits.md gives the reasons.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timeline/critical_path.hpp"

namespace tisim {

// The share of a wait explained by a state, or by the message that ended it (`state` is then
// transfer). `row` is the state's index; kNone: the paths diverged too long ago.
struct CauseShare {
  std::uint32_t row;
  std::uint8_t state;
  double seconds;
};

// Waits due to one state, or to all states of a kind of one rank: seconds that other ranks waited,
// and the number of those ranks.
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

// The part of one wait explained by one state; both are indices of states.
struct ExplainedWait {
  std::uint32_t row;
  std::uint32_t wait;
  double seconds;
};

// Sums over all waits: by state, and by rank and State. `explained` is ordered by waiting rank.
struct CauseSums {
  std::vector<CauseSum> by_row, by_rank;
  std::vector<ExplainedWait> explained;
};

class WaitCauses {
 public:
  // As in StatePaths.
  WaitCauses(std::span<const StateRow> states, std::size_t ranks)
      : states_(states), paths_(states, ranks) {}

  const StatePaths& paths() const { return paths_; }
  // The causes of a wait: shares that add up to it, latest first. Empty if it is not a wait.
  std::vector<CauseShare> of(std::uint32_t row) const;
  // The states on the late path since both diverged, latest first, including the waits that it
  // skips: those of one rank are consecutive.
  std::vector<std::uint32_t> late_path(std::uint32_t row) const;
  CauseSums sums() const;

 private:
  // A part of the late path, or of the waiting rank's path.
  struct Part {
    double seconds;
    std::uint32_t row;
    std::uint8_t state;
    bool is_late;
  };
  // Sort key of parts: by state and length.
  struct Length {
    double seconds;
    std::uint32_t part;
    std::uint8_t state;
  };
  // Scratch memory, reused between waits.
  struct Scratch {
    std::vector<Part> parts;
    std::vector<Length> order;
    std::vector<std::uint32_t> open;
    std::vector<CauseShare> shares;
  };
  // The place of a wait; kNone if the state is not a wait.
  std::uint32_t place_of(std::uint32_t row) const;
  std::uint32_t place_in_rank(std::uint32_t row) const;
  // Walks both paths of the wait at a place back to where they diverge.
  void walk(std::uint32_t place, std::vector<Part>& parts) const;
  static void explain(Scratch& scratch);

  std::span<const StateRow> states_;
  StatePaths paths_;
};

}  // namespace tisim
