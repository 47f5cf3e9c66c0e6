// What a test or a probe costs: the longer the more of them have failed, on whatever rank.
//
// SimGrid counts for all ranks together (smpi/test, smpi/iprobe, smpi/grow-injected-times). A test
// takes smpi/test times 1 plus the tests that have failed since one succeeded; so does a probe,
// which computes for that time. MPI_Testany has a counter of its own, which always grows.
#pragma once

#include <cstdint>

#include "platform/model.hpp"

namespace tisim {

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

  // Whether probes take no time, however many fail.
  bool probe_is_free() const { return model_.iprobe_sleep * model_.iprobe_cpu_usage <= 0; }
  // On a host whose cores do `speed` flop/s.
  double probe_flops(double speed) const {
    return static_cast<double>(probes_) * model_.iprobe_sleep * speed * model_.iprobe_cpu_usage;
  }
  void probe_failed() { probes_ += model_.grow_injected_times ? 1 : 0; }
  void probe_succeeded() { probes_ = 1; }

 private:
  const Model& model_;
  std::int64_t tests_ = 1, tests_any_ = 1, probes_ = 1;
};

}  // namespace tisim
