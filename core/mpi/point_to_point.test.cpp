#include "mpi/point_to_point.hpp"

#include "core/simulation_testing.hpp"

namespace tisim::test {

namespace {

Model with_thresholds(std::int64_t eager, std::int64_t detached) {
  Model model = simple_model();
  model.eager_threshold = eager;
  model.detached_threshold = detached;
  return model;
}

// Tables of one segment: so many seconds, whatever the size.
Model with_overheads(double send, double isend, double receive) {
  const auto table = [](double seconds) { return OverheadTable{{0}, {seconds}, {0}}; };
  Model model = with_thresholds(0, 500);
  model.overheads = {Overheads{table(send), table(isend), table(receive)}};
  return model;
}

TEST("a late sender: the transfer starts when the message is sent") {
  CHECK(finishes({{"sleep 2", "send 1 0 1000"}, {"recv 0 0 1000"}}, {2, 4}));
}

TEST("a late receiver of a detached message: the transfer starts when it is received") {
  CHECK(finishes({{"send 1 0 1000"}, {"sleep 2", "recv 0 0 1000"}}, {0, 4}));
}

TEST("an eager message is under way before its receive is posted") {
  const Model model = with_thresholds(2000, 65536);
  CHECK(finishes({{"send 1 0 1000"}, {"sleep 1", "recv 0 0 1000"}}, {0, 2}, model));
  CHECK(finishes({{"send 1 0 1000"}, {"sleep 5", "recv 0 0 1000"}}, {0, 5}, model));
}

TEST("a message of the eager threshold is detached, one byte less is eager") {
  const Model model = with_thresholds(1000, 65536);
  CHECK(finishes({{"send 1 0 1000"}, {"sleep 5", "recv 0 0 1000"}}, {0, 7}, model));
  CHECK(finishes({{"send 1 0 999"}, {"sleep 5", "recv 0 0 999"}}, {0, 5}, model));
}

TEST("a message of the detached threshold is a rendezvous, one byte less is detached") {
  const Model model = with_thresholds(0, 1000);
  CHECK(finishes({{"send 1 0 1000"}, {"sleep 2", "recv 0 0 1000"}}, {4, 4}, model));
  CHECK(finishes({{"send 1 0 999"}, {"sleep 2", "recv 0 0 999"}}, {0, 3.999}, model));
}

TEST("a synchronous send waits whatever its size, a buffered one never") {
  const Model model = with_thresholds(0, 1000);
  CHECK(finishes({{"ssend 1 0 500"}, {"sleep 2", "recv 0 0 500"}}, {3.5, 3.5}, model));
  CHECK(finishes({{"bsend 1 0 2000"}, {"sleep 2", "recv 0 0 2000"}}, {0, 5}, model));
}

TEST("a message of less than the eager threshold that waits is not eager") {
  CHECK(finishes({{"ssend 1 0 500"}, {"sleep 2", "recv 0 0 500"}}, {3.5, 3.5},
                 with_thresholds(1000, 65536)));
}

TEST("who gets control back at once pays for its send, and the receiver for what it finds") {
  const Model model = with_overheads(0.25, 0.5, 0.125);
  CHECK(finishes({{"send 1 0 100"}, {"recv 0 0 100"}}, {0.25, 1.475}, model));
  CHECK(finishes({{"isend 1 0 100", "waitall"}, {"recv 0 0 100"}}, {0.5, 1.725}, model));
}

TEST("a rendezvous costs the receiver nothing, and the sender only if it does not block") {
  const Model model = with_overheads(0.25, 0.5, 0.125);
  CHECK(finishes({{"send 1 0 1000"}, {"recv 0 0 1000"}}, {2, 2}, model));
  CHECK(finishes({{"ssend 1 0 1000"}, {"recv 0 0 1000"}}, {2.25, 2.25}, model));
  CHECK(finishes({{"isend 1 0 1000", "waitall"}, {"recv 0 0 1000"}}, {2.5, 2.5}, model));
}

TEST("the receiver pays by the size of the message, not by that of its buffer") {
  Model model = simple_model();
  model.overheads = {Overheads{{}, {}, {{0}, {0}, {0.001}}}};
  CHECK(finishes({{"send 1 0 100"}, {"recv 0 0 4000"}}, {0, 1.2}, model));
}

TEST("nothing is sent to nobody") {
  CHECK(finishes({{"send -666 0 1000", "recv -666 0 1000", "isend -666 0 1000", "waitall"}}, {0}));
}

TEST("receives from any source take messages in the order in which they were sent") {
  // Rank 2 is the first to send, and its message takes longer.
  CHECK(finishes({{"sleep 10", "recv -555 0 9000", "send 3 0 0", "recv -555 0 9000"},
                  {"sleep 2", "send 0 0 1000"},
                  {"sleep 1", "send 0 0 3000"},
                  {"recv 0 0 0"}},
                 {16, 2, 1, 15}));
}

TEST("a message takes the receive that was posted first, with a wildcard or without") {
  // The first of the two receives gets the long message.
  CHECK(finishes({{"irecv -555 0 9000", "irecv 1 0 9000", "waitany 2", "send 2 0 0", "waitall"},
                  {"sleep 1", "send 0 0 3000", "send 0 0 500"},
                  {"recv 0 0 0"}},
                 {5, 1, 3.5}));
}

TEST("messages of one sender do not overtake one another") {
  CHECK(
      finishes({{"send 1 0 3000", "send 1 0 500"}, {"recv 0 0 9000", "recv 0 0 9000"}}, {0, 5.5}));
}

TEST("messages of other tags do not match") {
  CHECK(
      finishes({{"send 1 7 3000", "send 1 8 500"}, {"recv 0 8 9000", "recv 0 7 9000"}}, {0, 5.5}));
  CHECK(finishes({{"send 1 7 3000"}, {"recv 0 -444 9000"}}, {0, 4}));
}

TEST("a sendrecv posts both halves, then waits for both") {
  const Model model = with_thresholds(0, 0);
  CHECK(finishes({{"sendrecv 1000 1 2000 1"}, {"sendrecv 2000 0 1000 0"}}, {3, 3}, model));
  CHECK(finishes({{"sendrecv 1000 1 2000 -666"}, {"recv 0 0 1000"}}, {2, 2}, model));
}

TEST("a sendrecv with itself is nothing") {
  CHECK(finishes({{"sendrecv 1000 0 1000 0"}}, {0}, with_thresholds(0, 0)));
}

}  // namespace

}  // namespace tisim::test
