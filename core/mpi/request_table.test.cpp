#include "core/simulation_testing.hpp"

namespace tisim::test {

// Refusals. What each call does is compared with the kernel in Python and with SimGrid.

namespace {

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

TEST("what cannot be cancelled or freed is named") {
  CHECK(contains(error_of({"cancel request=0"}), "there is no request 0"));
  CHECK(contains(error_of({"request_free request=0"}), "there is no request 0"));
  CHECK(contains(error_of({"isend 1 1 10 request=0", "request_free request=0", "wait request=0"}),
                 "there is no request 0"));
  CHECK(contains(error_of({"recv_init 1 1 10 request=0", "cancel request=0"}), "is not active"));
}

}  // namespace

}  // namespace tisim::test
