// What many schedules have in common: their operations but for the peers.
//
// The ranks of a collective often do the same with different peers; all of a ring or of a recursive
// doubling do. So each shape is held once, and a rank's schedule is its peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/number_index.hpp"
#include "support/pool.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

struct ScheduleShape {
  std::vector<Op> ops;     // of the peer 0
  std::int32_t slots = 0;  // requests it uses
  std::uint32_t users = 0;
  std::uint64_t hash = 0;
};

class ScheduleShapes {
 public:
  // The number of the shape of these operations, which has one more user now.
  std::int32_t take(std::vector<Op> ops, std::int32_t slots);
  // It has one user less; without any it is dropped.
  void leave(std::int32_t index);

  const ScheduleShape& operator[](std::int32_t index) const { return shapes_[index]; }
  std::size_t count() const { return index_.size(); }
  std::size_t capacity() const { return shapes_.capacity(); }
  // Each shape has so many users. Throws BrokenInvariant.
  void verify(const std::vector<std::uint32_t>& users) const;

 private:
  std::uint64_t hash_at(std::int32_t index) const { return shapes_[index].hash; }

  Pool<ScheduleShape> shapes_;
  NumberIndex index_;  // of them, by what they do
};

}  // namespace tisim
