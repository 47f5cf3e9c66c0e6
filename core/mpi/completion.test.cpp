#include "mpi/completion.hpp"

#include "core/simulation_testing.hpp"

namespace tisim::test {

namespace {

const Program kSendsEarly = {"send 0 1 1000"};
const Program kSendsLate = {"sleep 10", "send 0 2 1000"};

TEST("a wait names the oldest pending request of its key") {
  CHECK(finishes({{"irecv 1 1 9000", "irecv 1 1 9000", "wait 1 0 1"},
                  {"send 0 1 500", "sleep 5", "send 0 1 500"}},
                 {6.5, 5}));  // what is pending at the end is waited for
}

TEST("a wait for a request that is not pending does nothing") {
  CHECK(finishes({{"wait 1 0 1"}, {}}, {0, 0}));
}

TEST("a waitall ends with the last of its messages") {
  CHECK(finishes({{"irecv 2 2 1000", "irecv 1 1 1000", "waitall"}, kSendsEarly, kSendsLate},
                 {12, 0, 10}));
}

TEST("a waitany ends with the first of its messages") {
  CHECK(finishes({{"irecv 2 2 1000", "irecv 1 1 1000", "waitany 2", "send 3 0 0"},
                  kSendsEarly,
                  kSendsLate,
                  {"recv 0 0 0"}},
                 {12, 0, 10, 3}));
}

TEST("a waitany takes a request that is complete before it looks for others") {
  CHECK(finishes({{"isend 1 5 1000", "irecv 2 2 1000", "waitany 2", "send 3 0 0"},
                  {"recv 0 5 1000"},
                  kSendsLate,
                  {"recv 0 0 0"}},
                 {12, 2, 10, 1}));
}

TEST("a waitall pays the overhead of its receives one after the other") {
  Model model = simple_model();
  model.overheads = {Overheads{{}, {}, {{0}, {0.25}, {0}}}};
  CHECK(finishes({{"irecv 1 1 1000", "irecv 2 1 1000", "waitall"}, kSendsEarly, kSendsEarly},
                 {2.5, 0, 0}, model));
}

TEST("a waitall of nothing is over at once") { CHECK(finishes({{"waitall"}}, {0})); }

// A test takes 0.1 s, and 0.1 s more for each that has failed since one succeeded.
Model with_costly_tests() {
  Model model = simple_model();
  model.test_sleep = 0.1;
  return model;
}

const Program kSends = {"send 0 1 1000"};  // arrives at 2

TEST("tests take the longer the more of them have failed") {
  CHECK(finishes({{"irecv 1 1 1000", "test 1 0 1", "test 1 0 1", "test 1 0 1", "send 2 0 0"},
                  kSends,
                  {"recv 0 0 0"}},
                 {2, 0, 1.6}, with_costly_tests()));
}

TEST("failed tests of one rank make those of another longer") {
  CHECK(finishes({{"irecv 1 1 9000", "test 1 0 1", "waitall", "send 1 2 0"},
                  {"sleep 1", "irecv 0 2 9000", "test 0 1 2", "send 0 1 0", "waitall"}},
                 {2.2, 3.2}, with_costly_tests()));
}

TEST("a test that succeeds makes the next ones short again") {
  CHECK(finishes({{"irecv 1 1 1000", "test 1 0 1", "sleep 5", "test 1 0 1", "irecv 1 1 1000",
                   "test 1 0 1", "waitall"},
                  {"send 0 1 1000", "sleep 20", "send 0 1 1000"}},
                 {22, 20}, with_costly_tests()));
}

TEST("a test without growing times always costs the same") {
  Model model = with_costly_tests();
  model.grow_injected_times = false;
  CHECK(finishes({{"irecv 1 1 1000", "test 1 0 1", "test 1 0 1", "test 1 0 1", "send 2 0 0"},
                  kSends,
                  {"recv 0 0 0"}},
                 {2, 0, 1.3}, model));
}

TEST("a test of what is not pending takes no time") {
  CHECK(finishes({{"test 1 0 1"}, {}}, {0, 0}, with_costly_tests()));
}

TEST("a testsome tests each pending request") {
  // 0.1 s for the one that is there, 0.1 s for the one that is not.
  CHECK(finishes(
      {{"irecv 1 1 1000", "irecv 2 2 1000", "sleep 5", "testsome 2", "send 3 0 0", "waitall"},
       kSends,
       {"sleep 10", "send 0 2 1000"},
       {"recv 0 0 0"}},
      {12, 0, 10, 6.2}, with_costly_tests()));
}

TEST("a wait for a request that a test has completed returns at once") {
  CHECK(finishes({{"irecv 1 1 1000", "sleep 5", "test 1 0 1", "wait 1 0 1"}, kSends}, {5.1, 0},
                 with_costly_tests()));
}

}  // namespace

}  // namespace tisim::test
