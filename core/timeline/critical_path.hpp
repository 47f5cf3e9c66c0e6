// The chain of computations and transfers that a simulated time consists of.
//
// From the end of the rank that finishes last one goes back: through what it did until a message
// woke it, through the transfer of that message, and on from the rank whose call started the
// transfer. Each part begins where the one before it ended, so that together they are the
// simulated time.
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

class CriticalPath {
 public:
  // Of states in the order of their ends, which live longer than this. `rank` finished last, at
  // `time`; everything began at 0.
  CriticalPath(std::span<const StateRow> states, std::int32_t rank, double time)
      : states_(states),
        rank_(rank),
        time_(time),
        next_(states.size()),
        start_(next_),
        sought_(time) {}

  // The next parts, the latest first; none when all have been taken.
  std::vector<PathPart> take(std::size_t count);

 private:
  const StateRow& find();

  std::span<const StateRow> states_;
  std::int32_t rank_;
  double time_;
  std::size_t next_;   // the row before which to look
  std::size_t start_;  // the same for all that ended at `sought_`
  double sought_;
};

}  // namespace tisim
