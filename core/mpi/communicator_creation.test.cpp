#include "mpi/communicator_creation.hpp"

#include "core/simulation_testing.hpp"
#include "trace/error.hpp"

namespace tisim::test {

namespace {

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
  CHECK_THROWS(replay.run(), TraceError, "is in no communicator 5");
}

TEST("a comm_group makes a communicator of the ranks that it lists, in their order") {
  // Rank 1 takes no part; rank 2 is rank 0 of it.
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
