// Compiled platforms: hosts, links and routes, passed once by Python.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "checks.hpp"
#include "platform/routes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// The columns of one kind of object, with one value per object.
struct HostColumns {
  std::vector<double> speed, memory;
  std::vector<std::int32_t> cores, overheads;
};
struct DiskColumns {
  std::vector<std::int32_t> host;
  std::vector<double> read_bandwidth, write_bandwidth, size;
};
struct LinkColumns {
  PlatformData data;  // only its link columns are used
};

void check_length(std::size_t length, std::size_t expected, const char* what) {
  if (length == expected) return;
  throw std::invalid_argument(std::string("the arrays of ") + what + " differ in length: " +
                              std::to_string(expected) + " and " + std::to_string(length));
}

void check_indices(const std::vector<std::int32_t>& indices, std::size_t count, const char* what) {
  for (const std::int32_t index : indices) check_index(index, count, what);
}

void check_amounts(const std::vector<double>& amounts, const char* what) {
  for (const double amount : amounts) {
    if (!(amount >= 0)) throw std::invalid_argument(std::string(what) + " must not be negative");
  }
}

void make_hosts(HostColumns* self, const Array<double>& speed, const Array<std::int32_t>& cores,
                const Array<double>& memory, const Array<std::int32_t>& overheads) {
  HostColumns hosts{copy(speed), copy(memory), copy(cores), copy(overheads)};
  check_length(hosts.cores.size(), hosts.speed.size(), "hosts");
  if (!hosts.overheads.empty()) check_length(hosts.overheads.size(), hosts.speed.size(), "hosts");
  if (!hosts.memory.empty()) check_length(hosts.memory.size(), hosts.speed.size(), "hosts");
  check_amounts(hosts.speed, "the speed of a host");
  for (const double most : hosts.memory) {
    if (!(most > 0)) throw std::invalid_argument("what memory allows a host is above zero");
  }
  for (const std::int32_t number : hosts.cores) {
    if (number < 1) throw std::invalid_argument("a host has at least one core");
  }
  new (self) HostColumns(std::move(hosts));
}

void make_disks(DiskColumns* self, const Array<std::int32_t>& host,
                const Array<double>& read_bandwidth, const Array<double>& write_bandwidth,
                const Array<double>& size) {
  DiskColumns disks{copy(host), copy(read_bandwidth), copy(write_bandwidth), copy(size)};
  check_length(disks.size.size(), disks.host.size(), "disks");
  for (const double bytes : disks.size) {
    if (!(bytes >= 0)) throw std::invalid_argument("the size of a disk is 0 or more bytes");
  }
  for (const auto* column : {&disks.read_bandwidth, &disks.write_bandwidth}) {
    check_length(column->size(), disks.host.size(), "disks");
    for (const double bandwidth : *column) {
      if (!(bandwidth > 0)) throw std::invalid_argument("the bandwidth of a disk is above zero");
    }
  }
  new (self) DiskColumns(std::move(disks));
}

void make_links(LinkColumns* self, const nb::kwargs& columns) {
  PlatformData data;
  std::size_t taken = 0;
  for_each_link_column(data, [&]<class T>(const char* name, std::vector<T>& column) {
    if (!columns.contains(name)) {
      throw nb::type_error((std::string("LinkColumns needs the keyword ") + name).c_str());
    }
    column = copy(nb::cast<Array<T>>(columns[name]));
    ++taken;
    check_length(column.size(), data.link_bandwidth.size(), "links");
    if constexpr (std::is_floating_point_v<T>) {
      check_amounts(column, ("the " + std::string(name) + " of a link").c_str());
    }
  });
  if (taken != columns.size())
    throw nb::type_error("LinkColumns has a keyword that is none of its columns");
  new (self) LinkColumns{std::move(data)};
}

nb::tuple link_fields() {
  nb::list names;
  PlatformData data;
  for_each_link_column(data, [&](const char* name, auto&) { names.append(name); });
  return nb::tuple(names);
}

void check_profile(const ResourceProfile& profile, std::size_t hosts, std::size_t links) {
  check_index(profile.index, profile.is_link ? links : hosts, profile.is_link ? "link" : "host");
  const bool of_link = profile.what == Quantity::bandwidth || profile.what == Quantity::latency;
  if (profile.what != Quantity::state && of_link != profile.is_link) {
    throw std::invalid_argument("a profile changes what its host or link does not have");
  }
}

void check_file_system(const FileSystemData& system, std::size_t disks, std::size_t hosts) {
  check_indices(system.servers, disks, "disk");
  check_indices(system.buffers, disks, "disk");
  if (!system.buffers.empty()) {
    check_length(system.buffers.size(), system.servers.size(), "servers and their caches");
  }
  check_index(system.metadata_host, hosts, "host");
  if (system.count < 1 || static_cast<std::size_t>(system.count) > system.servers.size()) {
    throw std::invalid_argument("a file lies on one server of its file system, or on more");
  }
}

void make_platform(PlatformData* self, HostColumns hosts, DiskColumns disks,
                   std::vector<FileSystemData> file_systems, LinkColumns links,
                   std::shared_ptr<const ZoneTree> zones,
                   const std::vector<ResourceProfile>& profiles) {
  const std::size_t links_count = links.data.link_bandwidth.size();
  check_length(static_cast<std::size_t>(zones->hosts()), hosts.speed.size(), "hosts");
  if (zones->links_end() > 0) check_index(zones->links_end() - 1, links_count, "link");
  check_indices(disks.host, hosts.speed.size(), "host");
  for (const FileSystemData& system : file_systems) {
    check_file_system(system, disks.host.size(), hosts.speed.size());
  }
  for (const ResourceProfile& profile : profiles) {
    check_profile(profile, hosts.speed.size(), links_count);
  }
  PlatformData data = std::move(links.data);
  data.host_speed = std::move(hosts.speed);
  data.host_cores = std::move(hosts.cores);
  data.host_memory = std::move(hosts.memory);
  data.host_overheads = std::move(hosts.overheads);
  data.disk_host = std::move(disks.host);
  data.disk_read_bandwidth = std::move(disks.read_bandwidth);
  data.disk_write_bandwidth = std::move(disks.write_bandwidth);
  data.disk_size = std::move(disks.size);
  data.file_systems = std::move(file_systems);
  data.zones = std::move(zones);
  data.profiles = profiles;
  new (self) PlatformData(std::move(data));
}

void make_profile(ResourceProfile* self, bool is_link, std::int32_t index, Quantity what,
                  double period, std::vector<double> times, std::vector<double> values) {
  if (times.empty() || times.size() != values.size()) {
    throw std::invalid_argument("a profile has as many dates as values, at least one");
  }
  double last = 0.0;
  for (const double time : times) {
    if (!(time >= last) || !std::isfinite(time)) {
      throw std::invalid_argument("the dates of a profile are finite and do not decrease");
    }
    last = time;
  }
  check_amounts(values, "the value of a profile");
  if (std::isnan(period) || period == 0.0) {
    throw std::invalid_argument("the period of a profile is above 0, or negative: one round");
  }
  new (self) ResourceProfile{is_link, index, what, period, std::move(times), std::move(values)};
}

// Maximum stripe or request size: products with numbers of servers stay far below 2^63.
constexpr double kMaxBytesInARow = 1ULL << 40;

void make_file_system(FileSystemData* self, const Array<std::int32_t>& servers, double stripe,
                      std::int32_t count, std::int32_t metadata_host, double metadata_latency,
                      double metadata_service, double request, std::int32_t window, double header,
                      double size, double client_cache, double server_cache,
                      const Array<std::int32_t>& buffers, bool flushes_on_close) {
  for (const double bytes : {stripe, request}) {
    if (!(bytes >= 1 && bytes <= kMaxBytesInARow && bytes == std::floor(bytes))) {
      throw std::invalid_argument("stripes and requests have 1 to 2^40 bytes, a whole number");
    }
  }
  for (const double bytes : {client_cache, server_cache}) checked_bytes(bytes);
  check_amount(metadata_latency, "the latency of a metadata server");
  check_amount(metadata_service, "the time of service of a metadata server");
  check_amount(header, "the header of a request");
  if (window < 1) throw std::invalid_argument("at least one request is under way at a time");
  if (!(size >= 0)) throw std::invalid_argument("the size of a file system is 0 or more bytes");
  new (self) FileSystemData{.servers = copy(servers),
                            .stripe = static_cast<std::int64_t>(stripe),
                            .count = count,
                            .metadata_host = metadata_host,
                            .metadata_latency = metadata_latency,
                            .metadata_service = metadata_service,
                            .request = static_cast<std::int64_t>(request),
                            .window = window,
                            .header = header,
                            .size = size,
                            .client_cache = static_cast<std::int64_t>(client_cache),
                            .server_cache = static_cast<std::int64_t>(server_cache),
                            .buffers = copy(buffers),
                            .flushes_on_close = flushes_on_close};
}

}  // namespace

void register_platform(nb::module_& m) {
  nb::enum_<Quantity>(m, "Quantity", "Quantity changed by a profile.")
      .value("SPEED", Quantity::speed)
      .value("BANDWIDTH", Quantity::bandwidth)
      .value("LATENCY", Quantity::latency)
      .value("STATE", Quantity::state);

  nb::class_<ResourceProfile>(m, "ResourceProfile",
                              "Change over time of one quantity of a host or link.")
      .def("__init__", &make_profile, "is_link"_a, "index"_a, "what"_a, "period"_a, "times"_a,
           "values"_a);

  nb::class_<HostColumns>(m, "HostColumns", "Columns with one value per host.")
      .def("__init__", &make_hosts, nb::kw_only(), "speed"_a, "cores"_a, "memory"_a, "overheads"_a,
           nb::sig("def __init__(self, *, speed: array.array[float], "
                   "cores: array.array[int], "
                   "memory: array.array[float], "
                   "overheads: array.array[int]) -> None"));
  nb::class_<DiskColumns>(m, "DiskColumns", "Columns with one value per disk.")
      .def("__init__", &make_disks, nb::kw_only(), "host"_a, "read_bandwidth"_a,
           "write_bandwidth"_a, "size"_a,
           nb::sig("def __init__(self, *, host: array.array[int], "
                   "read_bandwidth: array.array[float], "
                   "write_bandwidth: array.array[float], "
                   "size: array.array[float]) -> None"));
  nb::class_<FileSystemData>(m, "FileSystemData", "A file system on some of the disks.")
      .def("__init__", &make_file_system, nb::kw_only(), "servers"_a, "stripe"_a, "count"_a,
           "metadata_host"_a, "metadata_latency"_a, "metadata_service"_a, "request"_a, "window"_a,
           "header"_a, "size"_a, "client_cache"_a, "server_cache"_a, "buffers"_a,
           "flushes_on_close"_a,
           nb::sig("def __init__(self, *, servers: array.array[int], stripe: float, count: int, "
                   "metadata_host: int, metadata_latency: float, metadata_service: float, "
                   "request: float, window: int, header: float, size: float, "
                   "client_cache: float, server_cache: float, buffers: array.array[int], "
                   "flushes_on_close: bool) -> None"));
  nb::class_<LinkColumns>(m, "LinkColumns", "Columns with one value per link.")
      .def("__init__", &make_links,
           nb::sig("def __init__(self, **kwargs: array.array[int] | array.array[float]) -> None"))
      .def_static("fields", &link_fields, nb::sig("def fields() -> tuple[str, ...]"),
                  "Returns the names of all columns.");
  nb::class_<PlatformData>(m, "PlatformData", "A compiled platform.")
      .def("__init__", &make_platform, nb::kw_only(), "hosts"_a, "disks"_a, "file_systems"_a,
           "links"_a, "zones"_a, "profiles"_a)
      .def_prop_ro("hosts", [](const PlatformData& p) { return p.host_speed.size(); })
      .def_prop_ro("links", [](const PlatformData& p) { return p.link_bandwidth.size(); });
}

}  // namespace tisim
