// Hosts, disks, file systems, links and the routes between hosts, as compiled by Python from a
// platform.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "platform/profiles.hpp"
#include "platform/zones/zone_tree.hpp"

namespace tisim {

// A file system whose files are striped over some of its servers; `tisim.platform.disks` defines
// each field.
struct FileSystemData {
  std::vector<std::int32_t> servers;  // disk of each server
  std::int64_t stripe = 1;            // bytes
  std::int32_t count = 1;             // number of servers per file
  std::int32_t metadata_host = 0;
  double metadata_latency = 0.0;  // seconds of an operation in addition to its service
  double metadata_service = 0.0;  // seconds for which an operation occupies the server
  std::int64_t request = 1;       // maximum size of a request, bytes
  std::int32_t window = 1;        // maximum number of requests in flight per stream
  double header = 0.0;            // bytes of a request and of a reply in addition to the data
  double size = 0.0;              // capacity in bytes, may be infinite
  std::int64_t client_cache = 0;  // limit of bytes written by a host, not yet on a server; 0: none
  std::int64_t server_cache = 0;  // limit of bytes on a server, not yet on its disk; 0: none
  std::vector<std::int32_t> buffers;  // disk that is the cache of each server; empty: memory
  bool flushes_on_close = false;      // closing a file flushes the client's cache
};

// Arrays of a compiled platform, built by `tisim.platform`.
struct PlatformData {
  std::vector<double> host_speed;  // flop/s of one core
  std::vector<std::int32_t> host_cores;
  std::vector<double> host_memory;           // flop/s of all cores that memory permits; empty: any
  std::vector<std::int32_t> host_overheads;  // index into Model::overheads; empty: all 0

  std::vector<std::int32_t> disk_host;
  std::vector<double> disk_read_bandwidth;   // bytes/s
  std::vector<double> disk_write_bandwidth;  // bytes/s
  std::vector<double> disk_size;             // capacity in bytes, may be infinite

  std::vector<FileSystemData> file_systems;  // file systems on some of the disks

  std::vector<double> link_bandwidth;  // bytes/s
  std::vector<double> link_latency;    // seconds
  std::vector<std::uint8_t> link_fatpipe;
  std::vector<double> link_burst;  // bytes passed at once

  std::shared_ptr<const ZoneTree> zones;  // null: all routes are added individually

  std::vector<ResourceProfile> profiles;  // changes over time

  // Number of hosts plus two channels per disk.
  std::size_t resources() const { return host_speed.size() + 2 * disk_host.size(); }

  static std::uint64_t key(std::int32_t a, std::int32_t b) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 |
           static_cast<std::uint32_t>(b);
  }
};

// Calls visit(name, column) for each column with one value per link. The bindings fill the columns
// through this and ask Python for these names: a new column needs no code there.
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

// Finds routes in the zones of the platform, or among those added individually.
class RouteTable {
 public:
  explicit RouteTable(const PlatformData& data) : data_(data) {}

  // Stores the route in `route`; returns false if it is unknown.
  bool find(std::int32_t source, std::int32_t destination, Route& route) const;

  void add(std::int32_t source, std::int32_t destination, Route route) {
    own_.insert_or_assign(PlatformData::key(source, destination), std::move(route));
  }

 private:
  const PlatformData& data_;
  std::unordered_map<std::uint64_t, Route> own_;
};

}  // namespace tisim
