#include "mpi/probes.hpp"

#include "core/simulation_testing.hpp"

namespace tisim::test {

namespace {

// A probe computes for 0.1 s, and 0.1 s more for each that has failed since one succeeded.
Model with_costly_probes() {
  Model model = simple_model();
  model.iprobe_sleep = 0.1;
  model.iprobe_cpu_usage = 1.0;
  return model;
}

TEST("a probe ends when the message has been sent") {
  CHECK(finishes({{"sleep 3", "send 1 0 1000"},
                  {"probe 0 0", "send 2 0 0", "sleep 5", "recv 0 0 1000"},
                  {"recv 1 0 0"}},
                 {3, 10, 4}));
}

TEST("a receive that does not know the size of its message probes for it") {
  CHECK(finishes({{"sleep 3", "send 1 0 1000"}, {"recv 0 0 -1"}}, {3, 5}));
}

TEST("probes take the longer the more of them have failed") {
  // They end at 0.1, 0.3, 0.6 and 1.0: the last one finds the message.
  CHECK(
      finishes({{"sleep 0.7", "send 1 0 1000"}, {"recv 0 0 -1"}}, {0.7, 3}, with_costly_probes()));
}

TEST("an iprobe goes on whether there is a message or not") {
  CHECK(finishes({{"sleep 0.5", "send 1 0 1000"}, {"iprobe 0 0", "iprobe 0 0", "recv 0 0 1000"}},
                 {0.5, 2.5}, with_costly_probes()));
}

TEST("a probe of nobody takes no time") {
  CHECK(finishes({Program{"probe -666 0", "iprobe -666 0"}}, {0}, with_costly_probes()));
}

TEST("ranks that probe for what nobody sends are in a deadlock") {
  Replay replay({{"probe 1 0"}, {"recv 0 0 -1"}}, with_costly_probes());
  CHECK(replay.run().stop == Stop::deadlock);
}

}  // namespace

}  // namespace tisim::test
