#include "mpi/schedules.hpp"

#include <utility>

#include "core/test.hpp"

namespace tisim {

namespace {

// A send and a receive, as a step of a ring has them.
Schedule exchange(std::int32_t rank, std::int64_t bytes) {
  Schedule schedule;
  for (const Kind kind : {Kind::send, Kind::recv}) {
    Op op;
    op.kind = kind;
    op.peer = kind == Kind::send ? rank + 1 : rank - 1;
    op.bytes = bytes;
    schedule.ops.push_back(op);
  }
  schedule.slots = 3;
  schedule.context = 7;
  schedule.key = Schedules::key(rank, 0, true);
  return schedule;
}

}  // namespace

TEST("schedules: what is the same on all ranks is held once, the peers are each rank's own") {
  Schedules schedules(1000);
  const std::int32_t first = schedules.add(exchange(1, 80));
  const std::int32_t second = schedules.add(exchange(5, 80));
  CHECK(schedules.kept() == 2 && schedules.shapes() == 1);
  CHECK(schedules.size(first) == 2 && schedules.slots(first) == 3);
  CHECK(schedules.context(second) == 7);
  CHECK(schedules.op(first, 0).peer == 2 && schedules.op(first, 1).peer == 0);
  CHECK(schedules.op(second, 0).peer == 6 && schedules.op(second, 1).peer == 4);
  CHECK(schedules.op(second, 1).kind == Kind::recv && schedules.op(second, 1).bytes == 80);
  const std::int32_t larger = schedules.add(exchange(9, 81));
  CHECK(schedules.shapes() == 2 && schedules.op(larger, 0).bytes == 81);
}

TEST("schedules: a shape goes with the last schedule that has it") {
  Schedules schedules(1000);
  Schedule once = exchange(1, 80);
  once.kept = false;
  const std::int32_t first = schedules.add(exchange(2, 80));
  const std::int32_t passing = schedules.add(std::move(once));
  schedules.begin(passing);
  CHECK(schedules.shapes() == 1);
  schedules.end(passing);
  CHECK(schedules.kept() == 1 && schedules.op(first, 0).peer == 3);
  schedules.add(exchange(2, 90));  // in place of the first
  CHECK(schedules.kept() == 1 && schedules.shapes() == 1);
}

TEST("schedules: those that were not used for long go when there are too many") {
  Schedules schedules(100);
  for (std::int32_t rank = 0; rank < 200; ++rank) schedules.add(exchange(rank, rank));
  CHECK(schedules.kept() < 20 && schedules.shapes() == schedules.kept());
}

}  // namespace tisim
