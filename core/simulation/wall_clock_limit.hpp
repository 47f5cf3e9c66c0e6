// How much longer a run may take, in real time. When a run pauses has no influence on what it does.
#pragma once

#include <chrono>

namespace tisim {

// Asks the real clock now and then only.
class WallClockLimit {
 public:
  explicit WallClockLimit(double seconds) : limited_(seconds < kUnlimited) {
    if (!limited_) return;
    end_ = RealClock::now() + std::chrono::duration_cast<RealClock::duration>(Seconds(seconds));
  }
  bool is_over() { return (++checks_ % kChecks) == 0 && limited_ && RealClock::now() >= end_; }

 private:
  using RealClock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  static constexpr double kUnlimited = 1e6;  // seconds
  static constexpr unsigned kChecks = 16;    // before the real clock is asked
  bool limited_;
  unsigned checks_ = 0;
  RealClock::time_point end_;
};

}  // namespace tisim
