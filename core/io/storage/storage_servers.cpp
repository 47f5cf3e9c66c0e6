#include "io/storage/storage_servers.hpp"

#include <algorithm>
#include <tuple>

namespace tisim {

void ServerWaits::add(std::int32_t rank, std::span<const std::int32_t> servers, double seconds) {
  if (servers.empty() || seconds <= 0) return;
  for (const std::int32_t server : servers) {
    const std::uint64_t key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(rank)) << 32 |
                              static_cast<std::uint32_t>(server);
    ServerWait& wait = waits_[key];
    wait.rank = rank;
    wait.server = server;
    ++wait.calls;
    wait.seconds += seconds / static_cast<double>(servers.size());
  }
}

std::vector<ServerWait> ServerWaits::longest(std::size_t most) const {
  std::vector<ServerWait> waits;
  waits.reserve(waits_.size());
  for (const auto& [key, wait] : waits_) waits.push_back(wait);
  const auto is_longer = [](const ServerWait& a, const ServerWait& b) {
    return std::tuple(-a.seconds, a.rank, a.server) < std::tuple(-b.seconds, b.rank, b.server);
  };
  const std::size_t count = std::min(most, waits.size());
  std::partial_sort(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(count), waits.end(),
                    is_longer);
  waits.resize(count);
  return waits;
}

std::vector<ServerWait> ServerWaits::by_server(std::size_t servers) const {
  std::vector<ServerWait> sums(servers);
  // In a fixed order, so that sums are reproducible.
  for (const ServerWait& wait : longest(waits_.size())) {
    ServerWait& sum = sums[static_cast<std::size_t>(wait.server)];
    sum.server = wait.server;
    sum.calls += wait.calls;
    sum.seconds += wait.seconds;
  }
  return sums;
}

}  // namespace tisim
