// The call sites of a program: the call paths of a recorded trace and their calls.
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
  std::string path;    // as recorded
  std::string action;  // called there
  std::uint64_t calls = 0;
};

// Counts the calls of each path by rule instead of one by one.
class CallPathCounter {
 public:
  // `file` must outlive it.
  explicit CallPathCounter(const PackedFile& file) : file_(file) {}

  // Adds the calls of a class, which `counter` has counted.
  void take(std::uint32_t rank_class, const ClassCounter& counter);
  std::vector<CallPathSummary> summaries() const;

 private:
  const PackedFile& file_;
  std::map<std::pair<std::int64_t, std::string>, std::uint64_t> calls_;  // by path and action
};

// The comments of a recorded trace on the files that call paths refer to.
std::vector<std::string> module_comments(const tit::TraceTables& tables);

}  // namespace tisim
