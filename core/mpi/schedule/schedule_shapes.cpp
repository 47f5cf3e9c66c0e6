#include "mpi/schedule/schedule_shapes.hpp"

#include <cstring>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

namespace {

// An operation has no padding, so its bytes say what it is.
bool same(const std::vector<Op>& a, const std::vector<Op>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Op)) == 0);
}

std::uint64_t hash_of(const std::vector<Op>& ops) {
  std::uint64_t hash = ops.size();
  for (const Op& op : ops) {
    std::uint64_t words[sizeof(Op) / sizeof(std::uint64_t)];
    std::memcpy(words, &op, sizeof op);
    for (const std::uint64_t word : words) hash = tisim::hash_of(hash ^ word);
  }
  return hash;
}

}  // namespace

std::int32_t ScheduleShapes::take(std::vector<Op> ops, std::int32_t slots) {
  for (Op& op : ops) op.peer = 0;
  const std::uint64_t hash = hash_of(ops);
  std::int32_t index =
      index_.find(hash, [&](std::int32_t other) { return same(shapes_[other].ops, ops); });
  if (index < 0) {
    index = shapes_.acquire();
    shapes_[index] = {std::move(ops), slots, 0, hash};
    index_.insert(index, [this](std::int32_t number) { return hash_at(number); });
  }
  ++shapes_[index].users;
  return index;
}

void ScheduleShapes::leave(std::int32_t index) {
  if (--shapes_[index].users > 0) return;
  index_.erase(index, [this](std::int32_t number) { return hash_at(number); });
  shapes_[index] = ScheduleShape{};
  shapes_.release(index);
}

void ScheduleShapes::verify(const std::vector<std::uint32_t>& users) const {
  ensure(shapes_.is_consistent(), "a shape is dropped once");
  ensure(shapes_.in_use() == index_.size(), "every shape is found");
  for (std::size_t i = 0; i < users.size(); ++i) {
    ensure(shapes_[static_cast<std::int32_t>(i)].users == users[i],
           "a shape counts the schedules that have it");
  }
}

}  // namespace tisim
