#include "mpi/schedule_check.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/test.hpp"
#include "trace/vocabulary/op.hpp"

namespace tisim {

namespace {

struct Row {
  StepCode code;
  std::int32_t peer = 0;
  double size = 0;
  std::int32_t slot = -1;
};

// The findings of the check about these rows on a communicator of 8 ranks; empty: none.
std::string verdict(const std::vector<Row>& rows, bool blocking = true) {
  std::vector<std::int32_t> codes, peers, tags, slots;
  std::vector<double> sizes;
  for (const Row& row : rows) {
    codes.push_back(static_cast<std::int32_t>(row.code));
    peers.push_back(row.peer);
    sizes.push_back(row.size);
    tags.push_back(0);
    slots.push_back(row.slot);
  }
  try {
    check_schedule({codes, peers, sizes, tags, slots}, 8, blocking);
  } catch (const ScheduleError& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST("schedule check: what algorithms write passes") {
  CHECK(verdict({}).empty());
  CHECK(
      verdict({{StepCode::send, 7, 100}, {StepCode::ssend, 0, 0}, {StepCode::recv, 3, 8}}).empty());
  CHECK(verdict({{StepCode::recv, kAnySource, 8}, {StepCode::compute, 0, 1.5e9}}).empty());
  CHECK(verdict({{StepCode::isend, 1, kLargestMessage, 0},
                 {StepCode::irecv, 2, 1, 1},
                 {StepCode::wait, 0, 0, 1},
                 {StepCode::irecv, 2, 1, 1},
                 {StepCode::waitall, 2},
                 {StepCode::waitall, 0, 0, 1},
                 {StepCode::waitall, 0, 0, 0}})
            .empty());
  CHECK(verdict({{StepCode::sendrecv, 1, 8}, {StepCode::recv_half, kAnySource, 8}}).empty());
  CHECK(verdict({{StepCode::isend, 1, 8, 0}}, false).empty());
}

TEST("schedule check: peers are ranks of the communicator") {
  CHECK(verdict({{StepCode::compute, 0, 1}, {StepCode::send, 8, 1}}) ==
        "step 2: sends to rank 8 of a communicator of 8 ranks; ranks are 0 to 7");
  for (const std::int32_t peer : {-7, 8, 99, kProcNull, kAnySource}) {
    for (const StepCode code : {StepCode::send, StepCode::ssend, StepCode::isend}) {
      CHECK(contains(verdict({{code, peer, 1, 0}}), "step 1: sends to rank"));
    }
    if (peer == kAnySource) continue;
    CHECK(contains(verdict({{StepCode::recv, peer, 1}}), "step 1: receives from rank"));
    CHECK(contains(verdict({{StepCode::irecv, peer, 1, 0}}), "step 1: receives from rank"));
    CHECK(contains(verdict({{StepCode::sendrecv, 0, 1}, {StepCode::recv_half, peer, 1}}),
                   "step 1: receives from rank"));
  }
}

TEST("schedule check: sizes are whole, not negative and exact") {
  for (const double size : {-100.0, -1.0, 1.5, kNaN, kInfinity, -kInfinity, 1e300}) {
    CHECK(contains(verdict({{StepCode::send, 1, size}}), "step 1: sends "));
    CHECK(contains(verdict({{StepCode::recv, 1, size}}), "step 1: receives "));
  }
  for (const double flops : {-1.0, kNaN, kInfinity}) {
    CHECK(contains(verdict({{StepCode::compute, 0, flops}}), "step 1: computes "));
  }
}

TEST("schedule check: waits name pending requests") {
  CHECK(contains(verdict({{StepCode::wait, 0, 0, 3}}), "step 1: waits for the request 3"));
  CHECK(contains(verdict({{StepCode::wait, 0, 0, -1}}), "step 1: waits for the request -1"));
  CHECK(contains(
      verdict({{StepCode::isend, 1, 1, 0}, {StepCode::wait, 0, 0, 0}, {StepCode::wait, 0, 0, 0}}),
      "step 3: waits for the request 0"));
  CHECK(contains(verdict({{StepCode::isend, 1, 1, 0}, {StepCode::irecv, 1, 1, 0}}),
                 "step 2: starts the request 0, which is still pending"));
  for (const std::int32_t slot : {-1, 1, 2147483647}) {
    CHECK(contains(verdict({{StepCode::isend, 1, 1, slot}}), "step 1: starts the request"));
  }
}

TEST("schedule check: a waitall has the requests that it counts") {
  const Row start{StepCode::isend, 1, 1, 0};
  CHECK(contains(verdict({start, {StepCode::waitall, 2}, {StepCode::waitall, 0, 0, 0}}), "step 2"));
  CHECK(contains(verdict({start, {StepCode::waitall, -1}}), "step 2: waits for -1 requests"));
  CHECK(contains(verdict({start, {StepCode::waitall, 1}, {StepCode::wait, 0, 0, 0}}), "step 2"));
  CHECK(contains(verdict({start,
                          {StepCode::irecv, 1, 1, 1},
                          {StepCode::waitall, 2},
                          {StepCode::waitall, 0, 0, 0},
                          {StepCode::waitall, 0, 0, 0}}),
                 "step 3: waits for the request 0, which is not pending"));
}

TEST("schedule check: a sendrecv has two halves") {
  CHECK(contains(verdict({{StepCode::sendrecv, 1, 8}}), "step 1"));
  CHECK(contains(verdict({{StepCode::sendrecv, 1, 8}, {StepCode::recv, 1, 8}}), "step 1"));
  CHECK(contains(verdict({{StepCode::recv_half, 1, 8}}), "step 1"));
}

TEST("schedule check: unknown codes, columns of different lengths, waits that must not be") {
  for (const std::int32_t code : {-1, kStepCodes, 1000}) {
    CHECK(contains(verdict({{static_cast<StepCode>(code)}}), "step 1: has the unknown code"));
  }
  const std::vector<std::int32_t> one{0}, none;
  const std::vector<double> size{0.0};
  bool failed = false;
  try {
    check_schedule({one, none, size, one, one}, 8, true);
  } catch (const ScheduleError&) {
    failed = true;
  }
  CHECK(failed);
  CHECK(contains(verdict({{StepCode::isend, 1, 1, 0}, {StepCode::wait, 0, 0, 0}}, false),
                 "step 2: waits, which a non-blocking collective must not"));
}

TEST("schedule check: a round of a non-blocking collective ends with all of its requests") {
  const Row first{StepCode::isend, 1, 1, 0}, second{StepCode::irecv, 1, 1, 1};
  const Row one{StepCode::waitall, 1}, both{StepCode::waitall, 2};
  const Row slot0{StepCode::waitall, 0, 0, 0}, slot1{StepCode::waitall, 0, 0, 1};
  const Row pause{StepCode::waitall, 0};
  CHECK(verdict({pause, first, second, both, slot0, slot1, first}, false).empty());
  CHECK(contains(verdict({first, second, one, slot0}, false),
                 "step 3: ends a round of a non-blocking collective, but does not wait for all"));
  CHECK(contains(verdict({pause, {StepCode::send, 1, 1}}, false),
                 "step 2: is in a later round of a non-blocking collective, but no isend"));
}

TEST("schedule check: steps are counted as calls") {
  CHECK(contains(verdict({{StepCode::isend, 1, 1, 0},
                          {StepCode::waitall, 1},
                          {StepCode::waitall, 0, 0, 0},
                          {StepCode::sendrecv, 1, 8},
                          {StepCode::recv_half, 1, 8},
                          {StepCode::send, 9, 1}}),
                 "step 4: sends to rank 9"));
}

}  // namespace tisim
