// The schedules of collectives: made by Python on demand, kept for calls that are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "support/number_index.hpp"
#include "support/pool.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

// The common form of many schedules: their operations but for the peers.
//
// The ranks of a collective often do the same with different peers; all of a ring or of a recursive
// doubling do. So each shape is held once, and a rank's schedule is its peers, up to the last
// operation that has one: the waitall at the end of many a schedule has as many rows as requests.
struct ScheduleShape {
  std::vector<Op> ops;      // the first `peers` of the peer 0
  std::size_t peers = 0;    // how many of them have peers of their rank
  std::size_t in_call = 0;  // how many of them the call carries out
  std::int32_t slots = 0;   // requests it uses
  std::uint32_t users = 0;
  std::uint64_t hash = 0;
};

class ScheduleShapes {
 public:
  // The number of the shape of these operations, which has one more user now.
  std::int32_t take(std::vector<Op> ops, std::size_t in_call, std::int32_t slots);
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

// Operations that are executed one after the other: a collective of one rank.
//
// A non-blocking collective may have *rounds*: what follows its first waitall is carried out after
// its call (mpi/rounds.hpp).
struct Schedule {
  std::vector<Op> ops;
  std::size_t in_call = 0;  // how many of them the call carries out
  std::int32_t slots = 0;   // requests it uses
  std::int32_t context = 0;
  std::uint32_t epoch = 0;  // of its rank; it is good in that epoch only
  bool kept = true;         // for later calls
  std::uint64_t key = 0;
};

// When they have too many operations, the least recently used schedules are dropped.
class Schedules {
 public:
  explicit Schedules(std::size_t most_operations) : most_(most_operations) {}

  static std::uint64_t key(std::int32_t rank, std::uint32_t call, bool blocking) {
    return static_cast<std::uint64_t>(rank) << 33 | std::uint64_t{call} << 1 |
           static_cast<std::uint64_t>(blocking);
  }

  // The schedule that is kept under `key` and good in that context and epoch, -1: none.
  std::int32_t find(std::uint64_t key, std::int32_t context, std::uint32_t epoch) const;
  // Takes the place of another one that is kept under its key.
  std::int32_t add(Schedule schedule);

  void begin(std::int32_t index) {
    ++schedules_[index].runs;
    schedules_[index].recent = true;
  }
  void end(std::int32_t index) {
    if (--schedules_[index].runs == 0 && !schedules_[index].kept) drop(index);
  }

  std::size_t size(std::int32_t index) const { return shape_of(index).ops.size(); }
  std::size_t in_call(std::int32_t index) const { return shape_of(index).in_call; }
  bool has_rounds(std::int32_t index) const { return in_call(index) < size(index); }
  Op op(std::int32_t index, std::size_t step) const {
    const ScheduleShape& shape = shape_of(index);
    Op op = shape.ops[step];
    if (step < shape.peers) op.peer = schedules_[index].peers[step];
    return op;
  }
  std::int32_t slots(std::int32_t index) const { return shape_of(index).slots; }
  std::int32_t context(std::int32_t index) const { return schedules_[index].context; }
  bool is_running(std::int32_t index) const { return schedules_[index].runs > 0; }
  // The operations are counted, and those that are kept are found. Throws BrokenInvariant.
  void verify() const;
  std::size_t kept() const { return index_.size(); }
  std::size_t shapes() const { return shapes_.count(); }

 private:
  // There may be a million of them.
  struct Record {
    std::unique_ptr<std::int32_t[]> peers;  // of its first operations
    std::uint64_t key = 0;
    std::int32_t shape = -1;
    std::int32_t context = 0;
    std::uint32_t epoch = 0;
    std::uint32_t runs : 29 = 0;  // a rank may be in several rounds of it at a time
    std::uint32_t kept : 1 = true;
    std::uint32_t live : 1 = false;    // not a free place
    std::uint32_t recent : 1 = false;  // used since the last look for what can go
  };
  static_assert(sizeof(Record) == 32);

  // A record counts as so many operations.
  static constexpr std::size_t kRecord = 6;
  static constexpr std::size_t kSteps = 16;

  std::int32_t find(std::uint64_t key) const {
    return index_.find(hash_of(key),
                       [&](std::int32_t index) { return schedules_[index].key == key; });
  }
  std::uint64_t hash_at(std::int32_t index) const { return hash_of(schedules_[index].key); }
  const ScheduleShape& shape_of(std::int32_t index) const {
    return shapes_[schedules_[index].shape];
  }
  void drop(std::int32_t index);
  void make_room();

  Pool<Record> schedules_;
  ScheduleShapes shapes_;
  NumberIndex index_;  // of those that are kept, by key
  std::size_t most_;
  std::size_t operations_ = 0;
  std::size_t hand_ = 0;  // where the search for what can go went last
};

}  // namespace tisim
