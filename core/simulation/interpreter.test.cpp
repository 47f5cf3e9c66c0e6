#include "simulation/interpreter.hpp"

#include <stdexcept>

#include "core/simulation_testing.hpp"

namespace tisim::test {
namespace {

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

}  // namespace
}  // namespace tisim::test
