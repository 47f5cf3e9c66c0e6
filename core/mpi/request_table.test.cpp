#include "core/simulation_testing.hpp"

namespace tisim::test {

// Requests that a trace names by numbers: which of them a wait or test is about.

namespace {

// Sends 1 and 2 at 0, 3 when it is told to.
const Program kSender = {"send 0 1 1000", "send 0 2 1000", "recv 0 9 0", "send 0 3 1000"};

std::string error_of(const Program& program) {
  try {
    finishes({program, {}}, {0, 0});
  } catch (const TraceError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST("a wait by number ends when its own request does, among equal keys too") {
  CHECK(finishes(
      {{"irecv 1 1 1000 request=0", "irecv 1 1 1000 request=1", "wait request=1", "wait request=0"},
       {"send 0 1 1000", "sleep 5", "send 0 1 1000"}},
      {7, 5}));
  CHECK(finishes({{"irecv 1 1 1000 request=0", "irecv 1 1 1000 request=1", "wait request=0",
                   "send 2 0 0", "wait request=1"},
                  {"send 0 1 1000", "sleep 5", "send 0 1 1000"},
                  {"recv 0 0 0"}},
                 {7, 5, 3}));
}

TEST("two overlapping sets of requests, each waited for alone") {
  const Program sets = {"irecv 1 1 1000 request=0",
                        "irecv 1 2 1000 request=1",
                        "irecv 1 3 1000 request=2",
                        "waitall requests=0,1",
                        "send 1 9 0",
                        "waitall requests=2"};
  CHECK(finishes({sets, kSender}, {5, 3}));
  Program all = sets;
  for (std::string& line : all) line = line.substr(0, line.find(" request"));
  Replay replay({all, kSender});
  CHECK(replay.run().stop == Stop::deadlock);
}

TEST("a waitany takes the first of its list that is complete") {
  CHECK(finishes({{"irecv 1 1 1000 request=0", "irecv 2 2 1000 request=1", "sleep 5",
                   "waitany requests=1,0", "test request=0", "wait request=0"},
                  {"send 0 1 1000"},
                  {"send 0 2 1000"}},
                 {5, 0, 0}));
  CHECK(finishes({{"irecv 1 1 1000 request=0", "irecv 2 2 1000 request=1", "waitany requests=0",
                   "send 3 0 0", "wait request=1"},
                  {"sleep 10", "send 0 1 1000"},
                  {"send 0 2 1000"},
                  {"recv 0 0 0"}},
                 {12, 10, 0, 13}));
}

TEST("a waitsome and a testsome leave alone what they do not list") {
  const std::vector<Program> senders = {{"send 0 1 1000"}, {"sleep 10", "send 0 2 1000"}};
  CHECK(finishes({{"irecv 1 1 1000 request=0", "irecv 2 2 1000 request=1", "waitsome requests=1",
                   "wait request=0"},
                  senders[0],
                  senders[1]},
                 {12, 0, 10}));
  Model model = simple_model();
  model.test_sleep = 0.1;
  CHECK(finishes(
      {{"irecv 1 1 1000 request=0", "irecv 2 2 1000 request=1", "testsome requests=1",
        "testall requests=0", "testany requests=1,0", "test request=1", "send 3 0 0", "waitall"},
       senders[0],
       senders[1],
       {"recv 0 0 0"}},
      {12, 0, 10, 1.7}, model));
}

TEST("requests of non-blocking collectives have numbers") {
  CHECK(finishes({{"ibarrier request=0", "irecv 1 1 1000 request=1", "waitall requests=1,0"},
                  {"ibarrier request=0", "send 0 1 1000", "wait request=0"}},
                 {2, 0}));
  CHECK(finishes(
      {{"ibarrier request=0", "irecv 1 1 1000 request=1", "wait request=0", "ibarrier request=0",
        "testall requests=0,1", "waitany requests=0", "wait request=1"},
       {"ibarrier", "send 0 1 1000", "ibarrier", "waitall"}},
      {2, 0}));
  CHECK(finishes({{"ibcast 100 0 request=0", "wait request=0"}}, {0}));
}

TEST("persistent requests keep their numbers") {
  CHECK(finishes(
      {{"recv_init 1 1 1000 request=0", "recv_init 1 1 3000 request=1", "start request=1",
        "wait request=1", "startall requests=0,1", "waitall requests=1,0", "wait request=0"},
       {"send_init 0 1 1000 request=0", "start request=0", "wait request=0", "start request=0",
        "test request=0", "start request=0", "waitall"}},
      {4, 0}));
}

TEST("a number is used again") {
  CHECK(finishes({{"irecv 1 1 1000 request=0", "wait request=0", "irecv 1 1 1000 request=0",
                   "waitall requests=0", "isend 1 2 5 request=0"},
                  {"send 0 1 1000", "send 0 1 1000", "recv 0 2 5"}},
                 {4, 5.005}));
  // Large numbers have a place elsewhere.
  CHECK(finishes({{"irecv 1 1 1000 request=2147483647", "irecv 1 1 1000 request=4096",
                   "wait request=4096", "wait request=2147483647"},
                  {"send 0 1 1000", "send 0 1 1000"}},
                 {2, 0}));
}

TEST("a request whose test failed goes without a number when another gets it") {
  CHECK(finishes({{"irecv 1 1 1000 request=0", "test request=0", "irecv 2 2 1000 request=0",
                   "wait request=0", "send 3 0 0"},
                  {"sleep 10", "send 0 1 1000"},
                  {"send 0 2 1000"},
                  {"recv 0 0 0"}},
                 {12, 10, 0, 3}));
}

TEST("keys and numbers may be mixed") {
  CHECK(finishes({{"irecv 1 1 1000 request=0", "wait 1 0 1", "wait request=0",
                   "irecv 1 1 1000 request=0", "waitall", "irecv 1 1 1000 request=0"},
                  {"send 0 1 1000", "send 0 1 1000", "send 0 1 1000"}},
                 {6, 0}));
}

TEST("numbers that name no request, or are not free") {
  CHECK(contains(error_of({"wait request=1"}), "rank-0:2: there is no request 1"));
  CHECK(contains(error_of({"isend 1 0 5 request=1", "wait request=1", "wait request=1"}),
                 "rank-0:4: there is no request 1"));
  CHECK(contains(error_of({"waitall requests=7"}), "rank-0:2: there is no request 7"));
  CHECK(contains(error_of({"irecv 1 0 5 request=1", "irecv 1 0 5 request=1"}),
                 "rank-0:3: request 1 is still pending"));
  CHECK(contains(error_of({"isend 1 0 5 request=1", "start request=1"}),
                 "rank-0:3: request 1 is not persistent"));
  CHECK(contains(error_of({"recv_init 1 0 5 request=1", "start request=1", "start request=1"}),
                 "rank-0:4: request 1 is still active"));
}

}  // namespace

}  // namespace tisim::test
