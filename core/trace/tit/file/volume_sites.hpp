// Where volumes of computations stand, as the quick loops of readers need it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/tit/column/site_model.hpp"
#include "trace/tit/file/site_table.hpp"
#include "trace/tit/file/tables.hpp"

namespace tisim {
namespace tit {

// The site of the volume before a call.
struct VolumeSite {
  const std::uint16_t* limits = nullptr;  // of its model, if it varies
  const BinChoice* choices = nullptr;     // of its model
  std::uint32_t shift = 0;                // of its model
  std::uint32_t value = 0;                // if it does not vary
};

// All of a trace. A value is 0, no volume, or 1 plus the number of a volume.
class VolumeSites {
 public:
  // The number of what is not a site that quick loops can read.
  static constexpr std::uint32_t kSpecial = 0;
  // The number of calls that nothing is ever computed before.
  static constexpr std::uint32_t kNothing = 1;

  VolumeSites() : sites_(2) {}
  // `tables` must outlive it.
  explicit VolumeSites(const TraceTables& tables);

  // The number of the volume's site for a call of kind `at` behind one of kind `before` - 1.
  std::uint32_t number(const SiteTable& table, std::uint32_t before, std::uint32_t at) const {
    const std::uint32_t found = table.find(before, at);
    return found == SiteTable::kNone ? kNothing : number_of_[found];
  }
  const VolumeSite* data() const { return sites_.data(); }

  // Whether the trace lists its volumes; else values are 1 plus the code of a volume.
  bool is_listed() const { return is_listed_; }
  // The amounts of values: those below known(), and of more that a damaged file may give.
  const double* amounts() const { return amounts_.data(); }
  std::uint64_t known() const { return known_; }
  // Whether a damaged file may give values that are not known.
  bool may_exceed() const { return amounts_.size() > known_; }

 private:
  std::vector<VolumeSite> sites_;
  std::vector<std::uint32_t> number_of_;  // of each of the tables' sites
  std::vector<double> amounts_;
  std::uint64_t known_ = 0;
  bool is_listed_ = false;
};

}  // namespace tit
}  // namespace tisim
