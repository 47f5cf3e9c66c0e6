// Completion of requests: MPI_Wait, MPI_Test and their variants, and the cost of polling.
#pragma once

#include <cstdint>

#include "mpi/point_to_point.hpp"
#include "mpi/schedules.hpp"
#include "platform/model.hpp"

namespace tisim {

// The cost of a test or probe, which grows with the global number of failed ones.
//
// SimGrid counts over all ranks (smpi/test, smpi/iprobe, smpi/grow-injected-times). A test takes
// smpi/test times 1 plus the number of failed tests since the last success; so does a probe, which
// computes for that time. MPI_Testany has its own counter, which always grows.
class PollingCost {
 public:
  explicit PollingCost(const Model& model) : model_(model) {}

  bool test_is_free() const { return model_.test_sleep <= 0; }
  double test_seconds() const { return static_cast<double>(tests_) * model_.test_sleep; }
  void test_failed() { tests_ += model_.grow_injected_times ? 1 : 0; }
  void test_succeeded() { tests_ = 1; }

  double test_any_seconds() const { return static_cast<double>(tests_any_) * model_.test_sleep; }
  void test_any_failed() { ++tests_any_; }
  void test_any_succeeded() { tests_any_ = 1; }

  // Returns true if probes take no time, however many fail.
  bool probe_is_free() const { return model_.iprobe_sleep * model_.iprobe_cpu_usage <= 0; }
  // `speed`: of a core of the host, flop/s.
  double probe_flops(double speed) const {
    return static_cast<double>(probes_) * model_.iprobe_sleep * speed * model_.iprobe_cpu_usage;
  }
  void probe_failed() { probes_ += model_.grow_injected_times ? 1 : 0; }
  void probe_succeeded() { probes_ = 1; }

 private:
  const Model& model_;
  std::int64_t tests_ = 1, tests_any_ = 1, probes_ = 1;
};

// MPI_Wait, Waitall, Waitany and Waitsome. A request without a message (a detached send, or a
// message to MPI_PROC_NULL) is complete at once.
class Waits {
 public:
  Waits(const Runtime& runtime, RequestTable& requests, PointToPoint& messages,
        const Schedules& schedules)
      : runtime_(runtime), requests_(requests), messages_(messages), schedules_(schedules) {}

  // The wait of a trace or schedule; does nothing if the request no longer exists.
  bool wait(Rank& rank, std::int32_t index);
  // The waitall of a trace waits for the requests it lists or all pending ones, that of a schedule
  // for the slots that follow it.
  bool wait_pending(Rank& rank, std::int32_t index);
  bool wait_any(Rank& rank, std::int32_t index);
  bool wait_some(Rank& rank, std::int32_t index);

  // Finishes the awaited requests one by one as they complete, in order of posting among complete
  // ones. Each receive may cost its overhead.
  bool wait_awaited(Rank& rank, std::int32_t index);
  // A request of a waitany is complete: `rank.waiting`.
  bool finish_any(Rank& rank, std::int32_t index);
  // Called when the rank tests, which makes progress.
  void make_progress(std::int32_t index) const { messages_.make_progress(index); }
  // Finishes a request whose message has arrived, or which needs none.
  bool finish(Rank& rank, std::int32_t index, std::int32_t request);

 private:
  bool wait_for(Rank& rank, std::int32_t index, std::int32_t request);
  bool insert_collective_waits(Rank& rank);
  static void note_taken(Rank& rank, std::int32_t request);

  Runtime runtime_;
  RequestTable& requests_;
  PointToPoint& messages_;
  const Schedules& schedules_;
};

// MPI_Test, Testall, Testany and Testsome, following SimGrid's smpi_request.cpp. PollingCost gives
// their cost.
class RequestTests {
 public:
  RequestTests(const Runtime& runtime, RequestTable& requests, Waits& waits, PollingCost& cost)
      : runtime_(runtime), requests_(requests), waits_(waits), cost_(cost) {}

  bool test(Rank& rank, std::int32_t index);
  bool test_any(Rank& rank, std::int32_t index);
  // Testall and testsome: one test for each request listed, or pending, in order of posting.
  bool test_each(Rank& rank);

  // The time of a test is over. Querying the state of messages takes a round of the instant in
  // SimGrid, so ranks that query update the common counter after the ranks that test at the same
  // time and need no query.
  bool ask(Rank& rank, std::int32_t index);
  // Evaluates the result.
  bool finish(Rank& rank, std::int32_t index) {
    return rank.op.kind == Kind::testany ? finish_any(rank, index) : finish_one(rank, index);
  }
  // Called after the receive overhead, when a test or another call has completed a receive.
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
