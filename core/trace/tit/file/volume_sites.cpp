#include "trace/tit/file/volume_sites.hpp"

#include <algorithm>

#include "trace/tit/file/volume_code.hpp"

namespace tisim {
namespace tit {

VolumeSites::VolumeSites(const TraceTables& tables)
    : sites_(2), is_listed_(!tables.volumes.empty()) {
  amounts_.push_back(0);
  for (const std::uint64_t volume : tables.volumes) amounts_.push_back(volume_value(volume));
  known_ = amounts_.size();
  // Bins that end behind the last volume end before the next power of two.
  const std::uint64_t most = is_listed_ ? 2 * known_ : std::uint64_t{1} << 31;
  std::uint64_t largest = known_ - 1;
  for (const Site& site : tables.sites) {
    VolumeSite made;
    std::uint64_t its_largest = site.value;
    if (site.varies) {
      const std::uint32_t number = tables.models.model_of[static_cast<std::size_t>(site.value)];
      const SiteModel& model = tables.models.models[number];
      its_largest = model.largest();
      const DecodingTable table = model.table();
      if (table.large_bins != nullptr) its_largest = most;
      made.limits = table.limits;
      made.choices = table.choices;
      made.shift = table.shift;
    } else {
      made.value = static_cast<std::uint32_t>(site.value);
    }
    const bool is_quick = its_largest < most;
    if (is_quick && is_listed_) largest = std::max(largest, its_largest);
    number_of_.push_back(is_quick ? static_cast<std::uint32_t>(sites_.size()) : kSpecial);
    sites_.push_back(made);
  }
  amounts_.resize(static_cast<std::size_t>(largest) + 1, 0.0);
}

}  // namespace tit
}  // namespace tisim
