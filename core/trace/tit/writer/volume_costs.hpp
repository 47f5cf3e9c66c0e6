// What the volumes of a rank take in its column, and what they take in its grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/writer/call_list.hpp"
#include "trace/tit/writer/number_table.hpp"
#include "trace/tit/writer/rank_part.hpp"

namespace tisim {
namespace tit {

// Bits that a volume takes in a model or in a grammar, once; measured.
constexpr double kBitsPerVolume = 20;

struct VolumeCosts {
  double column_bits = 0;    // about: their entropy by the calls around them
  double grammar_items = 0;  // about
  std::size_t distinct = 0;
};

// Tables in memory that is used again for the next rank.
struct VolumeTables {
  std::vector<std::uint32_t> uses;
  NumberTable pairs;
};

// False when there are more than `most_distinct` different volumes. `calls`: those of the part.
bool measure_volumes(const RankPart& part, const CallList& calls, std::size_t most_distinct,
                     VolumeTables& tables, VolumeCosts& costs);

}  // namespace tit
}  // namespace tisim
