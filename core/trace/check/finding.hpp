// The findings of a check of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tisim {

enum class Severity : std::uint8_t {
  note,     // harmless, but worth knowing
  warning,  // the trace can be replayed, though perhaps not as intended
  error,    // the trace cannot be replayed, or the program is wrong
};

struct Finding {
  Severity severity = Severity::error;
  std::int32_t rank = 0;
  std::string file;
  std::uint64_t line = 0;  // 0: no particular line
  std::string message;
};

// Keeps the first findings and counts the others.
class Findings {
 public:
  static constexpr std::size_t kMaxKept = 200;

  void add(Finding finding) {
    errors_ += finding.severity == Severity::error ? 1 : 0;
    warnings_ += finding.severity == Severity::warning ? 1 : 0;
    if (kept_.size() < kMaxKept) kept_.push_back(std::move(finding));
  }
  bool full() const { return kept_.size() >= kMaxKept; }
  std::uint64_t errors() const { return errors_; }
  std::uint64_t warnings() const { return warnings_; }
  const std::vector<Finding>& kept() const { return kept_; }

 private:
  std::vector<Finding> kept_;
  std::uint64_t errors_ = 0;
  std::uint64_t warnings_ = 0;
};

}  // namespace tisim
