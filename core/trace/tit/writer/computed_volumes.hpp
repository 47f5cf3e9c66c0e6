// Volumes of computations, less exactly.
#pragma once

#include <vector>

#include "trace/tit/column/precision.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/writer/columns.hpp"
#include "trace/tit/writer/site_walk.hpp"

namespace tisim {
namespace tit {

// Replaces the volumes of computations in the columns, site by site, by what stands for them at
// this level of precision. Other values stay as they are.
void reduce_volumes(const Precision& precision, const TraceTables& tables, const SiteWalk& walk,
                    const RankPlaces& places, std::vector<RankValues>& values);

}  // namespace tit
}  // namespace tisim
