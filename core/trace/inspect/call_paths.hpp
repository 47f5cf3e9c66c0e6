// Where in the program calls are made: the call paths of a recorded trace, and their calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/inspect/class_counter.hpp"
#include "trace/packed/file.hpp"

namespace tisim {

struct CallPathSummary {
  std::string path;    // as it was recorded
  std::string action;  // that is called there
  std::uint64_t calls = 0;
};

// Counts the calls of each path by rule, not one by one.
class CallPathCounter {
 public:
  // `file` must outlive it.
  explicit CallPathCounter(const PackedFile& file) : file_(file) {}

  // Takes the calls of a class, which `counter` has counted.
  void take(std::uint32_t rank_class, const ClassCounter& counter);
  std::vector<CallPathSummary> summaries() const;

 private:
  const PackedFile& file_;
  std::map<std::pair<std::int64_t, std::string>, std::uint64_t> calls_;  // of path and action
};

// The comments of a recorded trace that say which files call paths name.
std::vector<std::string> module_comments(const tit::TraceTables& tables);

}  // namespace tisim
