#include "mpi/collective/communicator_creation.hpp"

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

TEST("peers are ranks of the communicator that an operation names") {
  // Rank 0 of the new communicator is rank 1, which is in it after 2 s.
  CHECK(finishes({{"comm_split 0 5 0 2", "recv 0 7 1000 comm=5"},
                  {"comm_split 0 5 0 1", "send 1 7 1000 comm=5"}},
                 {4, 2}));
}

TEST("messages of different communicators do not match") {
  Replay replay({{"comm_dup 0 5", "recv 1 7 1000 comm=5"}, {"comm_dup 0 5", "send 0 7 1000"}});
  CHECK(replay.run().stop == Stop::deadlock);
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

}  // namespace
}  // namespace tisim::test
