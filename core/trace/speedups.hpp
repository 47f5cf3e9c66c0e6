// Computations between two calls that are faster or slower than the trace says, as SimGrid's
// smpi/comp-adjustment-file has it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// By `file:line:file:line` of the calls.
using Speedups = std::unordered_map<std::string, double>;

// On a `location` whose `amount` is the speedup of what follows.
inline constexpr std::uint8_t kSpeedup = 8;

// Where the calls of a rank are, as the `location` lines of its trace say.
class CallPlaces {
 public:
  // The speedup of what lies between the call before and this one.
  double enter(const Speedups& speedups, std::string_view file, std::string_view line);

 private:
  // Keys name files without their directories, or as the trace does.
  std::string place_, whole_place_;
};

// Divides the volumes of computations by the speedup of their place.
class SpeedupStream {
 public:
  void apply(Op* ops, std::size_t count);

 private:
  double speedup_ = 1.0;
};

}  // namespace tisim
