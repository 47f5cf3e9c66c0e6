// Which ranks have waited for which servers of a file system, and how long.
//
// A rank waits for the server that replies last to its call. Those that reply last at one instant
// share the seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tisim {

// What a rank has waited for a server.
struct ServerWait {
  std::int32_t rank = 0;
  std::int32_t server = 0;  // that of metadata behind all others
  std::int64_t calls = 0;
  double seconds = 0.0;
};

class ServerWaits {
 public:
  // A call of a rank has taken so long; the servers replied last.
  void add(std::int32_t rank, std::span<const std::int32_t> servers, double seconds);

  // So many at most, the longest first.
  std::vector<ServerWait> longest(std::size_t most) const;
  // Of all ranks together, for each of so many servers.
  std::vector<ServerWait> by_server(std::size_t servers) const;

 private:
  std::unordered_map<std::uint64_t, ServerWait> waits_;  // by rank and server
};

}  // namespace tisim
