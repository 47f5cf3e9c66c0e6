// Computations between two calls that are faster or slower than the trace says, as in SimGrid's
// smpi/comp-adjustment-file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// By `file:line:file:line` of the calls.
using Speedups = std::unordered_map<std::string, double>;

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
  // Both must outlive the stream. The operations must have been read with
  // TraceGrammar::keeps_locations, into `calls`.
  SpeedupStream(const Speedups& speedups, const CallTable& calls)
      : speedups_(&speedups), calls_(&calls) {}

  void apply(Op* ops, std::size_t count);

 private:
  const Speedups* speedups_;
  const CallTable* calls_;
  CallPlaces places_;
  double speedup_ = 1.0;
};

}  // namespace tisim
