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

// Section of files with drawn volumes: the seed.
constexpr std::string_view kDrawnSection = "drawn volumes";

// `count` volumes between `least` and `most`.
struct VolumeBin {
  double least = 0;
  double most = 0;
  std::uint64_t count = 0;
};

// The numbered histograms of a trace. A computation refers to one in place of a volume.
class VolumeHistograms {
 public:
  // Adds a nonempty histogram. Volumes must be in order, not negative and below 1e15. Throws
  // std::invalid_argument.
  std::uint32_t add(std::vector<VolumeBin> bins);
  // Adds the histogram of a single constant volume.
  std::uint32_t add(std::uint64_t volume_code);
  bool empty() const { return histograms_.empty(); }
  std::size_t size() const { return histograms_.size(); }

  // Values of a site for fitting a model. `uses`: how often each value, 1 plus the number of a
  // histogram or 0 for no computation, occurs.
  std::vector<std::uint64_t> samples(const std::map<std::uint64_t, std::uint64_t>& uses) const;

 private:
  std::vector<std::vector<VolumeBin>> histograms_;
  std::map<std::uint64_t, std::uint32_t> constants_;  // by volume code
};

// The columns of ranks: models of their sites, and their coded values.

// The column of a rank, as in RankProgram::values.
struct RankValues {
  std::uint32_t rank = 0;
  std::uint64_t volumes = 0;
  std::vector<std::uint64_t> values;
};

// Volumes before calls that are histogram numbers: they are not coded but drawn by readers.
struct DrawnVolumes {
  VolumeHistograms histograms;
  std::uint64_t seed = 0;
};

// Creates all of `coded`; returns the coded values, rank by rank. `samples`: the values of each
// site; `site_of`: the sites of each rank's values. A block has about `block_values` values. Values
// at sites of `left_out` are not coded; empty: all are coded.
std::string encode_columns(std::vector<std::vector<std::uint64_t>> samples,
                           const std::vector<const std::uint32_t*>& site_of,
                           const std::vector<RankValues>& values, std::uint64_t block_values,
                           CodedColumns& coded, const std::vector<bool>& left_out = {});

// Creates tables.volumes, contexts, sites and columns; returns the coded values, rank by rank.
// `tables` must have its classes and kinds. A block has about `block_values` values. Volumes of
// computations have the precision tables.layout.precision. `drawn`: the histograms that volumes
// before calls refer to; none: volumes are codes.
std::string code_columns(std::vector<RankValues> values, std::uint64_t block_values,
                         const std::optional<DrawnVolumes>& drawn, TraceTables& tables);

// The same for attributes: creates all of CodedColumns of `attributes`; requires its classes.
std::string code_attributes(std::vector<RankValues> values, std::uint64_t block_values,
                            const TraceTables& tables, AttributeTables& attributes);

}  // namespace tisim::tit
