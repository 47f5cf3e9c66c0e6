// File systems on servers, as Python compiled them from a platform.
#pragma once

#include <cstdint>
#include <vector>

namespace tisim {

// The files of a file system lie in stripes on some of its servers; see
// `tisim.platform.file_systems` for what each number means.
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

}  // namespace tisim
