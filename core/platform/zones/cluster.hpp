// The common parts of all clusters: numbered hosts, and links numbered row by row.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>

#include "platform/zones/zone.hpp"

namespace tisim {

// Numbering of the links of a cluster, defined in `tisim.platform.zones.cluster`.
struct ClusterLinks {
  std::int32_t first = 0;  // first link of the cluster
  bool loopback = false;   // one per host, in the first column of its row
  bool limiter = false;    // one per host, in the next column, and one per switch
  bool is_split = false;   // a cable is two links, one per direction

  std::int32_t own() const { return (loopback ? 1 : 0) + (limiter ? 1 : 0); }
  std::int32_t limiter_column() const { return own() - 1; }
  std::int32_t wires() const { return is_split ? 2 : 1; }
};

// Throws std::invalid_argument unless a number of hosts or links fits in 32 bits.
inline std::int32_t counted(std::int64_t number) {
  if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument("a cluster has too many hosts or links");
  }
  return static_cast<std::int32_t>(number);
}

class Cluster : public Zone {
 public:
  Cluster(Point place, ClusterLinks links) : Zone(place), numbers_(links) {
    if (links.first < 0) throw std::invalid_argument("the links of a cluster are numbered from 0");
  }

 protected:
  const ClusterLinks& numbers() const { return numbers_; }

 private:
  ClusterLinks numbers_;
};

}  // namespace tisim
