// MPI_Test, Testall, Testany and Testsome, as SimGrid's smpi_request.cpp has them. What a test
// costs is in polling_cost.hpp.
#pragma once

#include <cstdint>

#include "mpi/point_to_point/polling_cost.hpp"
#include "mpi/point_to_point/waits.hpp"

namespace tisim {

class RequestTests {
 public:
  RequestTests(const Runtime& runtime, RequestTable& requests, Waits& waits, PollingCost& cost)
      : runtime_(runtime), requests_(requests), waits_(waits), cost_(cost) {}

  bool test(Rank& rank, std::int32_t index);
  bool test_any(Rank& rank, std::int32_t index);
  // Testall and testsome: one test for each request listed, or pending in the order of posting.
  void test_each(Rank& rank);

  // The time of a test is over. Asking for the state of messages takes SimGrid a round of the
  // instant, so that all who test at once raise or reset their common counter after those who need
  // not ask.
  bool ask(Rank& rank, std::int32_t index);
  // The answer.
  bool finish(Rank& rank, std::int32_t index) {
    return rank.op.kind == Kind::testany ? finish_any(rank, index) : finish_one(rank, index);
  }
  // The overhead of a receive is paid that a test, or something else, has completed.
  void received(const Rank& rank);

 private:
  bool needs_message_state(Rank& rank);
  bool finish_one(Rank& rank, std::int32_t index);
  bool finish_any(Rank& rank, std::int32_t index);
  void test_collective(Rank& rank, std::int32_t request);
  void finish_collective(Rank& rank);

  Runtime runtime_;
  RequestTable& requests_;
  Waits& waits_;
  PollingCost& cost_;
};

}  // namespace tisim
