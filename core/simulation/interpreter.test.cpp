#include "simulation/interpreter.hpp"

#include <stdexcept>

#include "core/simulation_testing.hpp"

namespace tisim::test {
namespace {

TEST("computations and sleeps take their time") {
  Replay replay({Program{"compute 3", "sleep 2"}});
  replay.run();
  CHECK(close(replay.finish(0), 5.0));
  CHECK(close(replay.simulation.ranks()[0].compute, 3.0));
  CHECK(close(replay.simulation.ranks()[0].other, 2.0));
}

TEST("sleeps that begin and end together end in the reverse order of their beginning") {
  // Rank 1 begins its sleep later, so its long message is sent first.
  Replay replay({{"sleep 1", "send 2 0 500"},
                 {"sleep 1", "send 2 0 3000"},
                 {"sleep 2", "recv -555 0 9000", "send 3 0 0", "recv -555 0 9000"},
                 {"recv 2 0 0"}});
  replay.run();
  CHECK(close(replay.finish(3), 7.0, 1e-9));
  CHECK(close(replay.finish(2), 7.5, 1e-9));
}

TEST("sleeps end before computations that began and end with them") {
  Replay replay({{"compute 1", "send 2 0 500"},
                 {"sleep 1", "send 2 0 3000"},
                 {"sleep 2", "recv -555 0 9000", "send 3 0 0", "recv -555 0 9000"},
                 {"recv 2 0 0"}});
  replay.run();
  CHECK(close(replay.finish(3), 7.0, 1e-9));
}

TEST("ranks that wait for one another are in a deadlock") {
  Replay replay({{"recv 1 0 10", "send 1 0 10"}, {"recv 0 0 10", "send 0 0 10"}});
  CHECK(replay.run().stop == Stop::deadlock);
  CHECK(replay.phase(0) == Phase::waiting);
}

TEST("a rank that is killed stops at that date, and what it would have sent never comes") {
  Replay replay({{"sleep 5", "send 1 0 1000"}, {"recv 0 0 1000"}});
  replay.simulation.kill_at(0, 2.0);
  CHECK(replay.run().stop == Stop::deadlock);
  CHECK(replay.phase(0) == Phase::dead);
  CHECK(close(replay.finish(0), 2.0));
  CHECK(replay.simulation.deaths().size() == 1);
}

TEST("what is being transferred from a rank that dies is lost") {
  Replay replay({{"send 1 0 9000", "sleep 9"}, {"recv 0 0 9000"}});
  replay.simulation.kill_at(0, 2.0);
  CHECK(replay.run().stop == Stop::deadlock);
  const std::int32_t message = replay.simulation.ranks()[1].waiting;
  CHECK(replay.simulation.loss_of(message) != nullptr);
  CHECK(replay.simulation.network().flows_in_progress() == 0);
}

TEST("a rank that is woken without a reason is an error, not a step") {
  Replay replay({{"recv 1 0 10"}, {"sleep 1"}});
  CHECK(replay.run().stop == Stop::deadlock);
  SimulationTesting::clock(replay.simulation).wake(1);  // has finished
  CHECK_THROWS(replay.simulation.run(), std::logic_error, "cannot be woken in phase");
}

TEST("a run ends at the time that it is given") {
  Replay replay({{"sleep 5"}});
  CHECK(replay.simulation.run(2.0) == Stop::time);
  CHECK(replay.simulation.now() == 2.0);
  CHECK(replay.run().stop == Stop::done);
}

TEST("the threads of a computation share the cores of the host") {
  // One core: all that the threads do, one after the other; the flops of the busiest take 4 s.
  CHECK(finishes({{"compute 4 threads=4 sum=10", "compute 1"}}, {11}));
  CHECK(finishes({{"compute 4 threads=1 sum=4"}}, {4}));
}

}  // namespace
}  // namespace tisim::test
