#include "mpi/schedule_check.hpp"

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

}  // namespace

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
