// The columns of ranks: models of their sites, and their values coded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/tit/column/histogram.hpp"
#include "trace/tit/column/precision.hpp"
#include "trace/tit/file/attributes.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/writer/drawn_volumes.hpp"

namespace tisim {
namespace tit {

// What a rank has in its column, as RankProgram::values has it.
struct RankValues {
  std::uint32_t rank = 0;
  std::uint64_t volumes = 0;
  std::vector<std::uint64_t> values;
};

// Makes all of `coded`; returns the coded values, rank after rank. `histograms`: the values of each
// site; `site_of`: the sites of each rank's values. A block holds about `block_values` values.
// Values at sites of `left_out` are not coded; empty: all are.
std::string encode_columns(std::vector<Histogram> histograms,
                           const std::vector<const std::uint32_t*>& site_of,
                           const std::vector<RankValues>& values, std::uint64_t block_values,
                           CodedColumns& coded, const std::vector<bool>& left_out = {});

// Makes tables.volumes, contexts, sites and columns; returns the coded values, rank after rank.
// `tables` must have its classes and its kinds. A block holds about `block_values` values.
// Volumes of computations are kept as exactly as `precision` says.
std::string code_columns(std::vector<RankValues> values, std::uint64_t block_values,
                         const Precision& precision, TraceTables& tables);

// The same for volumes before calls that are numbers of histograms: they are not coded, a reader
// draws them by the seed.
std::string code_drawn_columns(std::vector<RankValues> values, std::uint64_t block_values,
                               const VolumeHistograms& histograms, std::uint64_t seed,
                               TraceTables& tables);

// The same for attributes: makes all of CodedColumns of `attributes`, which must have its classes.
std::string code_attributes(std::vector<RankValues> values, std::uint64_t block_values,
                            const TraceTables& tables, AttributeTables& attributes);

}  // namespace tit
}  // namespace tisim
