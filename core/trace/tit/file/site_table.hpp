// Finds the sites of a call behind another.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/tit/file/tables.hpp"

namespace tisim {
namespace tit {

class SiteTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  SiteTable() = default;
  explicit SiteTable(const TraceTables& tables) : width_(tables.kinds_count) {
    constexpr std::uint64_t kMostDense = std::uint64_t{1} << 20;
    is_dense_ = (std::uint64_t{width_} + 1) * width_ <= kMostDense;
    if (is_dense_) dense_.assign((std::size_t{width_} + 1) * width_, kNone);
    for (const Context& context : tables.contexts) {
      const std::uint64_t place = place_of(context.before, context.at);
      if (is_dense_) {
        dense_[static_cast<std::size_t>(place)] = context.first_site;
      } else {
        sparse_[place] = context.first_site;
      }
    }
  }

  // The first site of the context; kNone when it has none. `before`: the kind of the call before
  // plus 1, or 0; `at`: the kind of the call.
  std::uint32_t find(std::uint32_t before, std::uint32_t at) const {
    const std::uint64_t place = place_of(before, at);
    if (is_dense_) return dense_[static_cast<std::size_t>(place)];
    const auto found = sparse_.find(place);
    return found == sparse_.end() ? kNone : found->second;
  }

 private:
  std::uint64_t place_of(std::uint32_t before, std::uint32_t at) const {
    return std::uint64_t{before} * width_ + at;
  }

  std::uint64_t width_ = 0;
  bool is_dense_ = true;
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint64_t, std::uint32_t> sparse_;
};

}  // namespace tit
}  // namespace tisim
