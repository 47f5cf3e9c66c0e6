#include "mpi/point_to_point/persistent_requests.hpp"

#include "core/simulation_testing.hpp"

namespace tisim::test {
namespace {

TEST("a persistent request is started again and again") {
  CHECK(finishes({{"recv_init 1 1 1000", "start 1 0 1", "wait 1 0 1", "start 1 0 1", "wait 1 0 1"},
                  {"send_init 0 1 1000", "start 1 0 1", "wait 1 0 1", "start 1 0 1", "wait 1 0 1"}},
                 {4, 0}));
}

TEST("to start a persistent send costs what a blocking one does") {
  Model model = simple_model();
  model.overheads = {Overheads{{{0}, {0.25}, {0}}, {{0}, {0.5}, {0}}, {}}};
  CHECK(finishes({{"send_init 1 1 1000", "start 0 1 1", "waitall"}, {"recv 0 1 1000"}},
                 {0.25, 2.25}, model));
}

TEST("what was never started is not pending") {
  CHECK(finishes({{"recv_init 1 1 1000", "waitall"}, {}}, {0, 0}));
}

TEST("a startall starts all that are not under way") {
  CHECK(finishes(
      {{"recv_init 1 1 1000", "recv_init 1 2 3000", "start 1 0 1", "startall 2", "waitall"},
       {"send 0 1 1000", "send 0 2 3000"}},
      {4, 0}));
}

}  // namespace
}  // namespace tisim::test
