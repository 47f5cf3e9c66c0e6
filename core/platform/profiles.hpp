// Quantities that change during a simulation: speeds, bandwidths, latencies and states that follow
// profiles, and ranks killed at given times.
#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

namespace tisim {

enum class Quantity : std::uint8_t {
  speed,      // of a host, as a fraction of the platform's value
  bandwidth,  // of a link, bytes/s
  latency,    // of a link, seconds
  state,      // of a host or link: on if the value is positive
  life        // of a rank, which is killed
};

// The changes of one quantity, optionally repeated.
struct ResourceProfile {
  bool is_link = false;
  std::int32_t index = 0;  // index of the host or link
  Quantity what = Quantity::state;
  double period = -1.0;       // seconds between the starts of two rounds; negative: one round
  std::vector<double> times;  // seconds from the start of a round, non-decreasing
  std::vector<double> values;

  // Returns true if any value is positive.
  bool rises() const;
};

struct Change {
  double date = 0.0;
  bool is_link = false;
  std::int32_t index = 0;
  Quantity what = Quantity::state;
  double value = 0.0;
};

// All future changes, in order of date.
class Changes {
 public:
  explicit Changes(const std::vector<ResourceProfile>& profiles);

  // Kills a rank at a date, independently of the profiles.
  void kill(std::int32_t rank, double date);

  bool empty() const { return queue_.empty(); }
  double next() const {
    return queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.top().date;
  }
  Change pop();

  // Returns true while kills are pending.
  bool kills() const { return kills_ > 0; }
  // Returns true if a later change makes the value of a resource positive.
  bool rises(bool is_link, std::int32_t index, Quantity what) const;

 private:
  struct Entry {
    double date;
    std::uint64_t order;
    std::int32_t profile;  // index of the profile, or ~ the rank to kill
    std::size_t step;      // step of the profile
    double start;          // start of the round
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.date > b.date || (a.date == b.date && a.order > b.order);
    }
  };

  void push(double date, std::int32_t profile, std::size_t step, double start) {
    queue_.push({date, order_++, profile, step, start});
  }

  const std::vector<ResourceProfile>& profiles_;
  std::vector<bool> over_;  // by profile
  std::priority_queue<Entry, std::vector<Entry>, Later> queue_;
  std::uint64_t order_ = 0;
  std::size_t kills_ = 0;
};

}  // namespace tisim
