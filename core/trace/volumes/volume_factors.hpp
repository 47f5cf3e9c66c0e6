// Volumes of an extrapolated trace that are drawn anew: each that was fitted, times a factor.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// By the volume, as the trace has it. Volumes that are equal were fitted alike.
using VolumeFactors = std::unordered_map<double, double>;

// The flops of a reduction belong to its call.
inline void multiply_volumes(const VolumeFactors& factors, Op* ops, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (ops[i].kind != Kind::compute || (ops[i].flags & kContinuation) != 0) continue;
    const auto found = factors.find(ops[i].amount);
    if (found != factors.end()) ops[i].amount *= found->second;
  }
}

}  // namespace tisim
