// Volumes of which only a histogram is known, as imported traces have them.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "trace/tit/column/site_model.hpp"
#include "trace/tit/file/tables.hpp"

namespace tisim {
namespace tit {

// A file whose volumes are drawn has this section: the seed.
constexpr std::string_view kDrawnSection = "drawn volumes";

// So many volumes from `least` to `most`.
struct VolumeBin {
  double least = 0;
  double most = 0;
  std::uint64_t count = 0;
};

// The histograms of a trace, numbered. A computation names one instead of a volume.
class VolumeHistograms {
 public:
  // Least and largest volumes must be in order, not negative and below 1e15; there is a volume.
  // Throws std::invalid_argument.
  std::uint32_t add(std::vector<VolumeBin> bins);
  // That of one volume, which is always the same.
  std::uint32_t add(std::uint64_t volume_code);
  bool empty() const { return histograms_.empty(); }
  std::size_t size() const { return histograms_.size(); }

  // Values of a site to fit a model to. `uses`: how often each value, 1 plus the number of a
  // histogram or 0 for no computation, stands there.
  std::vector<std::uint64_t> samples(const std::map<std::uint64_t, std::uint64_t>& uses) const;

 private:
  std::vector<std::vector<VolumeBin>> histograms_;
  std::map<std::uint64_t, std::uint32_t> constants_;  // by the codes of their volumes
};

}  // namespace tit
}  // namespace tisim
