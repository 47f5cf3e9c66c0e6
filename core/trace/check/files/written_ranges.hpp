// Which bytes of which files ranks write, and which of them two ranks write at a time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/archive/trace_set.hpp"
#include "trace/walk/finding.hpp"

namespace tisim {

class WrittenRanges {
 public:
  // Between two points at which ranks wait for each other nothing orders what they write.
  struct Interval {
    std::int32_t file = 0;
    std::uint64_t of_world = 0;  // points of all ranks that were before
    std::uint64_t of_file = 0;   // points of those that have opened the file

    friend auto operator<=>(const Interval&, const Interval&) = default;
  };
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;  // behind the last byte
    std::int32_t rank = 0;
    std::uint32_t line = 0;
  };

  std::int32_t file(const std::string& name);
  void add(const Interval& interval, const Range& range);
  bool has_room() const { return count_ < kMost; }
  // Adds a warning for each file that two ranks write in one place in one interval.
  void report(const TraceSet& set, Findings& findings) const;

 private:
  // So many ranges are kept: a warning about the first ones is worth more than memory.
  static constexpr std::size_t kMost = 1U << 20;

  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::string> names_;
  std::map<Interval, std::vector<Range>> ranges_;
  std::size_t count_ = 0;
};

}  // namespace tisim
