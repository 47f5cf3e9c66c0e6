// The states of a simulation in a file, as `StateRows` wrote them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "timeline/states.hpp"

namespace tisim {

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

}  // namespace tisim
