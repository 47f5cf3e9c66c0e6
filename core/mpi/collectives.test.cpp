// Collective calls: their schedules and communicators.
#include "mpi/collectives.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/simulation_testing.hpp"
#include "core/test.hpp"
#include "mpi/communicator_creation.hpp"
#include "mpi/schedule_check.hpp"
#include "mpi/schedules.hpp"
#include "trace/error.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim::test {

namespace {

TEST("a collective asks for the schedule of each rank") {
  Replay replay({{"bcast 100 0 6"}, {"bcast 100 0 6"}});
  CHECK(replay.simulation.run() == Stop::need_schedule);
  CHECK(replay.simulation.question().rank == 0);
  CHECK(replay.simulation.question().blocking);
  CHECK(replay.run().stop == Stop::done);
}

TEST("a schedule sends its messages between the ranks of the communicator") {
  Replay replay({{"barrier"}, {"barrier"}});
  CHECK(replay.simulation.run() == Stop::need_schedule);
  ScheduleColumns first, second;
  first.add(StepCode::send, 1, 1000);
  first.provide(replay.simulation);
  CHECK(replay.simulation.run() == Stop::need_schedule);
  CHECK(replay.simulation.question().rank == 1);
  second.add(StepCode::recv, 0, 1000);
  second.provide(replay.simulation);
  CHECK(replay.run().stop == Stop::done);
  CHECK(close(replay.finish(1), 2.0, 1e-9));
}

TEST(
    "an all-to-all at once needs no requests of its own, and few events while latencies are paid") {
  constexpr std::int32_t kRanks = 4;
  Replay replay(std::vector<Program>(kRanks, {"alltoall 100000 100000"}));
  Stop stop = replay.simulation.run(0.5);
  for (; stop == Stop::need_schedule; stop = replay.simulation.run(0.5)) {
    const std::int32_t me = replay.simulation.question().number;
    ScheduleColumns steps;
    constexpr std::int32_t kRequests = 2 * (kRanks - 1);
    for (std::int32_t i = 1; i < kRanks; ++i) {
      steps.add(StepCode::irecv, (me + i) % kRanks, 100000, i - 1);
    }
    for (std::int32_t i = 1; i < kRanks; ++i) {
      steps.add(StepCode::isend, (me - i + kRanks) % kRanks, 100000, kRanks + i - 2);
    }
    steps.add(StepCode::waitall, kRequests);
    for (std::int32_t slot = 0; slot < kRequests; ++slot) steps.add(StepCode::waitall, 0, 0, slot);
    steps.provide(replay.simulation);
  }
  CHECK(stop == Stop::time);
  replay.simulation.verify();
  CHECK(SimulationTesting::mpi(replay.simulation).requests.in_use() == 0);
  std::size_t events = 0;
  SimulationTesting::clock(replay.simulation).agenda().for_each([&](double, std::uint32_t) {
    ++events;
  });
  CHECK(events > 0 && events < kRanks);
  CHECK(replay.run().stop == Stop::done);
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    CHECK(close(replay.finish(rank), 101.0, 1e-9));
  }
  CHECK(replay.simulation.schedules().shapes() == 1);
}

TEST("a schedule is kept for calls that are the same") {
  Replay replay({{"barrier", "barrier", "barrier"}});
  CHECK(replay.run().stop == Stop::done);
  CHECK(replay.simulation.schedules().kept() == 1);
}

TEST("ranks that call different collectives are told of") {
  Replay replay({{"barrier"}, {"bcast 10"}});
  CHECK(replay.run().stop == Stop::mismatch);
  CHECK(replay.simulation.mismatch().first.operation == Operation::barrier);
  CHECK(replay.simulation.mismatch().second.operation == Operation::bcast);
}

TEST("where a collective synchronises all ranks leave with the last one") {
  Model model = simple_model();
  model.synchronised = 1U << static_cast<unsigned>(Operation::barrier);
  CHECK(finishes({{"sleep 3", "barrier"}, {"barrier"}}, {3, 3}, model));
  CHECK(finishes({{"sleep 3", "barrier"}, {"barrier"}}, {3, 0}));
}

TEST("a non-blocking collective is pending as one request") {
  Replay replay({Program{"ibarrier", "waitall"}});
  CHECK(replay.run().stop == Stop::done);
  CHECK(replay.simulation.ranks()[0].pending.first < 0);
}

TEST("a comm_split makes a communicator of each color, its ranks in the order of their keys") {
  Replay replay({{"comm_split 0 5 0 9"}, {"comm_split 0 5 1 0"}, {"comm_split 0 5 0 3"}});
  CHECK(replay.run().stop == Stop::done);
  CHECK(replay.simulation.communicator_count() == 3);
  const Communicator& first = replay.simulation.communicator(1);
  CHECK(first.size == 2);
  CHECK(first.member(0) == 2);
  CHECK(first.member(1) == 0);
  CHECK(replay.simulation.communicator(2).member(0) == 1);
}

TEST("the index of a communicator that all have freed is used again") {
  Replay replay({Program{"comm_dup 0 5", "comm_free 5", "comm_dup 0 6", "comm_free 6"}});
  CHECK(replay.run().stop == Stop::done);
  CHECK(replay.simulation.communicator_count() == 2);
}

TEST("a rank that is in no communicator of an id is an error of its line") {
  Replay replay({{"send 1 7 1000 comm=5"}, {}});
  CHECK_THROWS(replay.run(), TraceError, "is not in a communicator 5");
}

TEST("a comm_group makes a communicator of the ranks that it lists, in their order") {
  // Rank 1 does not take part; rank 2 becomes rank 0.
  Replay replay({{"comm_group 5 2 0", "recv 0 7 1000 comm=5"},
                 {"sleep 1"},
                 {"comm_group 5 2 0", "send 1 7 1000 comm=5"}});
  CHECK(replay.run().stop == Stop::done);
  const Communicator& made = replay.simulation.communicator(1);
  CHECK(made.size == 2);
  CHECK(made.member(0) == 2);
  CHECK(made.member(1) == 0);
}

TEST("equal lists of ranks make different communicators") {
  const Program program{"comm_group 5 0 1", "comm_group 6 0 1", "barrier comm=6",
                        "barrier comm=5",   "comm_free 5",      "comm_free 6"};
  Replay replay({program, program});
  CHECK(replay.run().stop == Stop::done);
  Replay other({{"comm_group 5 0 1"}, {"comm_group 6 0 1"}});
  CHECK_THROWS(other.run(), TraceError, "is 6 here, but 5 for rank 0");
}

TEST("a comm_idup waits for nobody, and its number may be another one on each rank") {
  Replay replay({{"comm_idup 0 5", "send 1 7 0", "barrier comm=5"},
                 {"recv 0 7 0", "comm_idup 0 6", "barrier comm=6"}});
  CHECK(replay.run().stop == Stop::done);
  CHECK(replay.simulation.communicator_count() == 2);
}

}  // namespace

}  // namespace tisim::test

namespace tisim {

namespace {

// A send and a receive, as in a step of a ring.
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
  schedules.add(exchange(2, 90));  // replaces the first
  CHECK(schedules.kept() == 1 && schedules.shapes() == 1);
}

TEST("schedules: those that were not used for long go when there are too many") {
  Schedules schedules(100);
  for (std::int32_t rank = 0; rank < 200; ++rank) schedules.add(exchange(rank, rank));
  CHECK(schedules.kept() < 20 && schedules.shapes() == schedules.kept());
}

namespace {

struct Row {
  StepCode code;
  std::int32_t peer = 0;
  double size = 0;
  std::int32_t slot = -1;
};

// Returns what the check reports for these rows on a communicator of 8 ranks; empty if valid.
std::string verdict(const std::vector<Row>& rows, bool blocking = true) {
  test::ScheduleColumns steps;
  for (const Row& row : rows) steps.add(row.code, row.peer, row.size, row.slot);
  try {
    check_schedule({steps.codes, steps.peers, steps.sizes, steps.tags, steps.slots}, 8, blocking);
  } catch (const ScheduleError& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST("schedule check: a waitall has the requests that it counts") {
  const Row start{StepCode::isend, 1, 1, 0};
  CHECK(contains(verdict({start, {StepCode::waitall, 2}, {StepCode::waitall, 0, 0, 0}}), "step 2"));
  CHECK(contains(verdict({start, {StepCode::waitall, -1}}), "step 2: waits for -1 requests"));
  CHECK(contains(verdict({start, {StepCode::waitall, 1}, {StepCode::wait, 0, 0, 0}}), "step 2"));
  CHECK(contains(verdict({start,
                          {StepCode::irecv, 1, 1, 1},
                          {StepCode::waitall, 2},
                          {StepCode::waitall, 0, 0, 0},
                          {StepCode::waitall, 0, 0, 0}}),
                 "step 3: waits for the request 0, which is not pending"));
}

TEST("schedule check: a sendrecv has two halves") {
  CHECK(contains(verdict({{StepCode::sendrecv, 1, 8}}), "step 1"));
  CHECK(contains(verdict({{StepCode::sendrecv, 1, 8}, {StepCode::recv, 1, 8}}), "step 1"));
  CHECK(contains(verdict({{StepCode::recv_half, 1, 8}}), "step 1"));
}

TEST("schedule check: unknown codes, columns of different lengths, waits that must not be") {
  for (const std::int32_t code : {-1, kStepCodes, 1000}) {
    CHECK(contains(verdict({{static_cast<StepCode>(code)}}), "step 1: has the unknown code"));
  }
  const std::vector<std::int32_t> one{0}, none;
  const std::vector<double> size{0.0};
  bool failed = false;
  try {
    check_schedule({one, none, size, one, one}, 8, true);
  } catch (const ScheduleError&) {
    failed = true;
  }
  CHECK(failed);
  CHECK(contains(verdict({{StepCode::isend, 1, 1, 0}, {StepCode::wait, 0, 0, 0}}, false),
                 "step 2: waits, which is not allowed in a non-blocking collective"));
}

TEST("schedule check: a round of a non-blocking collective ends with all of its requests") {
  const Row first{StepCode::isend, 1, 1, 0}, second{StepCode::irecv, 1, 1, 1};
  const Row one{StepCode::waitall, 1}, both{StepCode::waitall, 2};
  const Row slot0{StepCode::waitall, 0, 0, 0}, slot1{StepCode::waitall, 0, 0, 1};
  const Row pause{StepCode::waitall, 0};
  CHECK(verdict({pause, first, second, both, slot0, slot1, first}, false).empty());
  CHECK(contains(verdict({first, second, one, slot0}, false),
                 "step 3: ends a round of a non-blocking collective, but does not wait for all"));
  CHECK(contains(verdict({pause, {StepCode::send, 1, 1}}, false),
                 "step 2: is in a later round of a non-blocking collective, but no isend"));
}

TEST("schedule check: steps are counted as calls") {
  CHECK(contains(verdict({{StepCode::isend, 1, 1, 0},
                          {StepCode::waitall, 1},
                          {StepCode::waitall, 0, 0, 0},
                          {StepCode::sendrecv, 1, 8},
                          {StepCode::recv_half, 1, 8},
                          {StepCode::send, 9, 1}}),
                 "step 4: sends to rank 9"));
}

}  // namespace tisim
