#include "trace/check/balance.hpp"

#include <cstdio>
#include <string>

namespace tisim {

namespace {

// Above so many times the mean, a rank's share is worth a note.
constexpr double kNotableCompute = 1.5;
constexpr double kNotableSent = 2.0;

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

}  // namespace

void Balance::report(const TraceSet& set, Findings& findings) const {
  const auto note = [&](Sum Share::*sum, double notable, const char* does, const char* unit,
                        const char* advice) {
    double all = 0;
    std::size_t most = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      all += (ranks_[rank].*sum).total;
      if ((ranks_[rank].*sum).total > (ranks_[most].*sum).total) most = rank;
    }
    const Sum& largest = ranks_[most].*sum;
    const double mean = all / static_cast<double>(ranks_.size());
    if (largest.total <= notable * mean) return;
    const auto rank = static_cast<std::int32_t>(most);
    findings.add({Severity::note, rank, set.file(rank), largest.line,
                  "imbalance: rank " + std::to_string(rank) + " " + does + " " +
                      rounded(largest.total) + " " + unit + ", " + rounded(largest.total / mean) +
                      " times the mean of the ranks, most of it at "
                      "once here" +
                      advice});
  };
  note(&Share::compute, kNotableCompute, "computes", "flops",
       "; spread the work, or the others wait");
  note(&Share::sent, kNotableSent, "sends", "bytes",
       "; spread the messages, or its link is the bottleneck");
}

}  // namespace tisim
