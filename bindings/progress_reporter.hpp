// Progress of long operations in the core that run without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "support/progress.hpp"

namespace tisim {

// Calls a Python function with the completed fraction, at once and then ten times a second, and
// checks for Ctrl-C as often. A Python exception aborts the operation.
class ProgressReporter {
 public:
  // `callback`: None, or a callable that takes a number from 0 to 1.
  explicit ProgressReporter(nanobind::object callback) : callback_(std::move(callback)) {}

  // Must not outlive this object.
  Progress progress() {
    return [this](double fraction) { report(fraction); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{100};

  void report(double fraction) {
    if (Clock::now() < next_report_) return;
    const nanobind::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    if (!callback_.is_none()) callback_(std::min(fraction, 1.0));
    next_report_ = Clock::now() + kInterval;
  }

  nanobind::object callback_;
  Clock::time_point next_report_{};
};

}  // namespace tisim
