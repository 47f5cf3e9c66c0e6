#include "mpi/collectives.hpp"

#include "core/simulation_testing.hpp"

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
  const std::int32_t send = 0, receive = 3, to = 1, from = 0, tag = 0, slot = -1;
  const double bytes = 1000;
  replay.simulation.provide_schedule({&send, 1}, {&to, 1}, {&bytes, 1}, {&tag, 1}, {&slot, 1},
                                     false);
  CHECK(replay.simulation.run() == Stop::need_schedule);
  CHECK(replay.simulation.question().rank == 1);
  replay.simulation.provide_schedule({&receive, 1}, {&from, 1}, {&bytes, 1}, {&tag, 1}, {&slot, 1},
                                     false);
  CHECK(replay.run().stop == Stop::done);
  CHECK(close(replay.finish(1), 2.0, 1e-9));
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

}  // namespace

}  // namespace tisim::test
