// States of a run on disk, and how densely they lie.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "timeline/states.hpp"

namespace tisim {

// The states of a simulation in a file, as `StateRows` wrote them.
class StateFile {
 public:
  // Throws std::system_error when it cannot be read.
  explicit StateFile(const std::string& path);

  std::int64_t size() const { return size_; }  // rows
  // A row; those close to it are kept in memory.
  const StateRow& operator[](std::int64_t index) {
    if (index < first_ || index >= first_ + static_cast<std::int64_t>(rows_.size())) load(index);
    return rows_[static_cast<std::size_t>(index - first_)];
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void load(std::int64_t index);

  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
  std::int64_t size_ = 0;
  std::int64_t first_ = 0;
  std::vector<StateRow> rows_;
};

// How much of its time each rank, or each group of ranks, spends in each state, over time.

// Seconds in each state, by [group][bin][state], of `bins` equal parts of the time from `begin` to
// `end`; `groups[r]` is the group of rank r, from 0 to below `count`.
std::vector<float> state_density(const std::string& states, double begin, double end,
                                 std::size_t bins, std::span<const std::int32_t> groups,
                                 std::size_t count);

}  // namespace tisim
