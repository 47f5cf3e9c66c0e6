// Hosts, disks, file systems, links and the routes between hosts, as Python compiled them from a
// platform.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "platform/profiles.hpp"
#include "platform/zones/zone_tree.hpp"

namespace tisim {

// A file system whose files lie in stripes on some of its servers; `tisim.platform.disks`
// defines each number.
struct FileSystemData {
  std::vector<std::int32_t> servers;  // the disk of each
  std::int64_t stripe = 1;            // bytes in a row on one server
  std::int32_t count = 1;             // servers of one file
  std::int32_t metadata_host = 0;
  double metadata_latency = 0.0;  // seconds of an operation beside its service
  double metadata_service = 0.0;  // seconds for which an operation occupies its server
  std::int64_t request = 1;       // bytes of the largest request
  std::int32_t window = 1;        // requests of a call that are at a server or on their way
  double header = 0.0;            // bytes of a request and of a reply beside the data
  double size = 0.0;              // bytes that it holds, perhaps infinite
  std::int64_t client_cache = 0;  // bytes that a host may have written and no server has; 0: none
  std::int64_t server_cache = 0;  // bytes that a server may have and its disk has not; 0: none
  std::vector<std::int32_t> buffers;  // the disk that is the cache of each server; empty: memory
  bool flushes_on_close = false;      // what the cache of a client holds
};

// Arrays of a compiled platform; see `tisim.platform` for how they are made.
struct PlatformData {
  std::vector<double> host_speed;  // flop/s of one core
  std::vector<std::int32_t> host_cores;
  std::vector<double> host_memory;  // flop/s that memory allows all cores together; empty: any
  std::vector<std::int32_t> host_overheads;  // index into Model::overheads, empty: all 0

  std::vector<std::int32_t> disk_host;
  std::vector<double> disk_read_bandwidth;   // bytes/s
  std::vector<double> disk_write_bandwidth;  // bytes/s
  std::vector<double> disk_size;             // bytes that it holds, perhaps infinite

  std::vector<FileSystemData> file_systems;  // on some of the disks

  std::vector<double> link_bandwidth;  // bytes/s
  std::vector<double> link_latency;    // seconds
  std::vector<std::uint8_t> link_fatpipe;
  std::vector<double> link_burst;  // bytes that it passes at once

  std::shared_ptr<const ZoneTree> zones;  // null: all routes are handed over one by one

  std::vector<ResourceProfile> profiles;  // how all that changes

  // Hosts, and two channels of each disk.
  std::size_t resources() const { return host_speed.size() + 2 * disk_host.size(); }

  static std::uint64_t key(std::int32_t a, std::int32_t b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 |
           static_cast<std::uint32_t>(b);
  }
};

// Calls visit(name, column) for each column with a value per link. The bindings fill the columns
// through this, and ask Python for these names: a new number of a link needs no line there.
template <class AnyPlatform, class Visit>
void for_each_link_column(AnyPlatform& platform, Visit&& visit) {
  visit("bandwidth", platform.link_bandwidth);
  visit("latency", platform.link_latency);
  visit("fatpipe", platform.link_fatpipe);
  visit("burst", platform.link_burst);
}

struct Route {
  std::vector<std::int32_t> links;
  double latency = 0.0;  // seconds
};

// Finds routes: in the zones of the platform, or among those that were handed over one by one.
class RouteTable {
 public:
  explicit RouteTable(const PlatformData& data) : data_(data) {}

  // Puts the route into `route`; false: nobody knows it yet.
  bool find(std::int32_t source, std::int32_t destination, Route& route) const;

  void add(std::int32_t source, std::int32_t destination, Route route) {
    own_.insert_or_assign(PlatformData::key(source, destination), std::move(route));
  }

 private:
  const PlatformData& data_;
  std::unordered_map<std::uint64_t, Route> own_;
};

}  // namespace tisim
