// The columns of ranks: sites are counted and modelled, values are coded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/tit/file/attributes.hpp"
#include "trace/tit/file/tables.hpp"

namespace tisim::tit {

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
  // Adds the histogram of a single volume, which is always the same.
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

// The columns of ranks: models of their sites, and their values coded.

// The column of a rank, as RankProgram::values has it.
struct RankValues {
  std::uint32_t rank = 0;
  std::uint64_t volumes = 0;
  std::vector<std::uint64_t> values;
};

// Volumes before calls that are numbers of histograms: they are not coded, a reader draws them.
struct DrawnVolumes {
  VolumeHistograms histograms;
  std::uint64_t seed = 0;
};

// Makes all of `coded`; returns the coded values, rank after rank. `samples`: the values of each
// site; `site_of`: the sites of each rank's values. A block holds about `block_values` values.
// Values at sites of `left_out` are not coded; empty: all are.
std::string encode_columns(std::vector<std::vector<std::uint64_t>> samples,
                           const std::vector<const std::uint32_t*>& site_of,
                           const std::vector<RankValues>& values, std::uint64_t block_values,
                           CodedColumns& coded, const std::vector<bool>& left_out = {});

// Makes tables.volumes, contexts, sites and columns; returns the coded values, rank after rank.
// `tables` must have its classes and its kinds. A block holds about `block_values` values.
// Volumes of computations are kept as exactly as tables.layout.precision says. `drawn`: what
// volumes before calls are numbers of; none: they are codes.
std::string code_columns(std::vector<RankValues> values, std::uint64_t block_values,
                         const std::optional<DrawnVolumes>& drawn, TraceTables& tables);

// The same for attributes: makes all of CodedColumns of `attributes`, which must have its classes.
std::string code_attributes(std::vector<RankValues> values, std::uint64_t block_values,
                            const TraceTables& tables, AttributeTables& attributes);

}  // namespace tisim::tit
