#include "mpi/persistent_requests.hpp"

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

// MPI_Cancel and MPI_Request_free: what becomes of messages, of numbers, and of whoever waits.

namespace {

std::string refusal(const Program& program) {
  try {
    finishes({program, {"recv 0 1 10"}}, {0, 0});
  } catch (const TraceError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const char* part) {
  if (text.find(part) == std::string::npos) std::fprintf(stderr, "%s\n", text.c_str());
  return text.find(part) != std::string::npos;
}

TEST("a cancelled receive is complete, and the message goes to the next one") {
  CHECK(finishes({{"irecv 1 1 1000 request=0", "irecv 1 1 1000 request=1", "cancel request=0",
                   "wait request=0", "wait request=1"},
                  {"sleep 5", "send 0 1 1000"}},
                 {7, 5}));
  CHECK(finishes({{"irecv 1 1 1000", "cancel 1 0 1", "wait 1 0 1"}, {}}, {0, 0}));
  // From any source, in the middle of those that are posted.
  CHECK(finishes(
      {{"irecv -555 1 1000 request=0", "irecv -555 1 1000 request=1", "irecv -555 1 1000 request=2",
        "cancel request=1", "wait request=0", "wait request=2", "wait request=1"},
       {"send 0 1 1000", "sleep 5", "send 0 1 1000"}},
      {7, 5}));
}

TEST("a receive that has its message is not cancelled") {
  CHECK(finishes({{"irecv 1 1 1000 request=0", "sleep 1", "cancel request=0", "wait request=0"},
                  {"send 0 1 1000"}},
                 {2, 0}));
}

TEST("a rendezvous that nobody has answered is cancelled, an eager message is not") {
  const Program late = {"sleep 1", "recv 0 1 10"};
  Replay cancelled({{"issend 1 1 10 request=0", "cancel request=0", "wait request=0"}, late});
  CHECK(cancelled.run().stop == Stop::deadlock);
  CHECK(cancelled.simulation.ranks()[0].phase == Phase::finished);
  Replay eager({{"isend 1 1 10 request=0", "cancel request=0", "wait request=0"}, late});
  CHECK(eager.run().stop == Stop::done);
}

TEST("a request that is freed is waited for by nobody, and its message arrives") {
  CHECK(finishes({{"issend 1 1 1000 request=0", "request_free request=0",
                   "issend 1 2 1000 request=0", "wait request=0"},
                  {"recv 0 2 1000", "sleep 3", "recv 0 1 1000"}},
                 {7, 7}));
  // Also without a number; a waitall does not know it, the end of the rank does.
  CHECK(finishes({{"irecv 1 1 1000", "request_free 1 0 1", "waitall", "send 2 0 0"},
                  {"sleep 5", "send 0 1 1000"},
                  {"recv 0 0 0"}},
                 {7, 5, 1}));
  CHECK(finishes(
      {{"irecv 1 1 1000 request=3", "sleep 5", "request_free request=3"}, {"send 0 1 1000"}},
      {5, 0}));
}

TEST("a persistent request is freed, active or not, and its place is used again") {
  CHECK(finishes(
      {{"recv_init 1 1 1000 request=0", "start request=0", "request_free request=0",
        "recv_init 1 2 1000 request=0", "startall", "wait request=0", "request_free request=0"},
       {"send 0 2 1000", "sleep 5", "send 0 1 1000"}},
      {7, 5}));
  CHECK(finishes(
      {{"recv_init 1 1 1000", "recv_init 1 2 1000", "request_free 1 0 1", "startall", "waitall"},
       {"send 0 2 1000"}},
      {2, 0}));
}

TEST("what cannot be cancelled or freed is named") {
  CHECK(says(refusal({"cancel request=0"}), "there is no request 0"));
  CHECK(says(refusal({"request_free request=0"}), "there is no request 0"));
  CHECK(says(refusal({"isend 1 1 10 request=0", "request_free request=0", "wait request=0"}),
             "there is no request 0"));
  CHECK(says(refusal({"recv_init 1 1 10 request=0", "cancel request=0"}), "is not active"));
}

}  // namespace

}  // namespace tisim::test
