// Where in a program its calls are made, as far as the trace says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/packed/file.hpp"

namespace tisim {

// Numbers the sites of a trace: calls of one kind with the same call path. A path that differs from
// rank to rank of a class counts as none.
class CallSites {
 public:
  // `file` must outlive it. Throws TraceError.
  explicit CallSites(const PackedFile& file);

  std::size_t count() const { return sites_.size(); }
  // Stands for the end of a rank's trace.
  std::size_t end() const { return sites_.size(); }
  std::size_t of(std::uint32_t rank_class, std::uint32_t call) const {
    return numbers_[rank_class][call];
  }
  std::uint32_t kind_of(std::size_t site) const { return sites_[site].first; }
  // Callers first; empty: it is not known.
  std::string_view path_of(std::size_t site) const { return sites_[site].second; }

 private:
  std::vector<std::pair<std::uint32_t, std::string_view>> sites_;  // kinds and paths
  std::vector<std::vector<std::size_t>> numbers_;                  // of the calls of each class
};

}  // namespace tisim
