// Sums and histograms of the calls of a trace, by action and by call site.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/inspect/call_meaning.hpp"

namespace tisim {

// Distribution of non-negative values.
struct Distribution {
  // Bin 0 counts values below 1, bin i those in [2^(i - 1), 2^i); the last bin all above.
  static constexpr std::size_t kBins = 81;

  std::uint64_t count = 0;
  double sum = 0;
  double least = 0;
  double most = 0;
  std::array<std::uint64_t, kBins> histogram{};

  void take(double value, std::uint64_t times);
};

// Totals of all calls of an action.
struct ActionTotal {
  std::uint64_t actions = 0;
  std::uint64_t messages = 0;  // point-to-point only, without those of collectives
  std::uint64_t bytes = 0;     // of those messages
  double amount = 0;           // flops, or seconds of sleep
};

// A call site: calls of one action with equal arguments apart from their peers, at one place of the
// program if the trace records it.
struct SiteTotal {
  std::uint64_t calls = 0;
  Distribution bytes;    // of each call with a size
  Distribution volumes;  // computed directly before a call
};

class Statistics {
 public:
  // Sites are numbered below `sites`; the last one represents the end of a rank's trace.
  explicit Statistics(std::size_t sites) : sites_(sites), compute_(&actions_["compute"]) {}

  // Counts `times` calls at `site` without their sizes and volumes; measure_call() adds these.
  void count_call(std::size_t site, const CallMeaning& meaning, std::uint64_t times);
  void measure_call(std::size_t site, const CallMeaning& meaning, std::uint64_t times);
  // Adds a message sent by an action in addition to the measured ones.
  void take_message(std::string_view action, std::int64_t bytes, std::uint64_t times) {
    ActionTotal& total = actions_[std::string(action)];
    total.messages += times;
    total.bytes += static_cast<std::uint64_t>(bytes) * times;
  }
  // Adds a computation before a call at `site`.
  void take_volume(std::size_t site, double amount, std::uint64_t times) {
    compute_->amount += amount * static_cast<double>(times);
    sites_[site].volumes.take(amount, times);
  }
  void count_computations(std::uint64_t times) { compute_->actions += times; }

  const std::map<std::string, ActionTotal>& actions() const { return actions_; }
  const std::vector<SiteTotal>& sites() const { return sites_; }
  std::uint64_t comments() const { return comments_; }
  // Calls of unknown actions, or invalid lines.
  std::uint64_t unreadable() const { return unreadable_; }

 private:
  std::map<std::string, ActionTotal> actions_;
  std::vector<SiteTotal> sites_;
  ActionTotal* compute_;
  std::uint64_t comments_ = 0;
  std::uint64_t unreadable_ = 0;
};

}  // namespace tisim
