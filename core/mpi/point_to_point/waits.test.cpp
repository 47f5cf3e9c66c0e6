#include "mpi/point_to_point/waits.hpp"

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

}  // namespace
}  // namespace tisim::test
