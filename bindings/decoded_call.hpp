// Collective calls for Python, with their arguments decoded by the core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/vocabulary/call.hpp"

namespace tisim {

// A call that fits its communicator. Fields that the collective lacks are 0 or empty.
struct DecodedCall {
  // Throws TraceError, at a line of a file (empty: none), if `call` does not fit `ranks` ranks.
  DecodedCall(const Call& call, bool is_blocking, std::int64_t ranks, const std::string& file,
              std::uint64_t line);

  std::string operation;  // without the `i` of non-blocking ones
  bool blocking = true;
  std::int64_t size = 0;  // ranks of the communicator
  std::int64_t root = 0;
  std::int64_t send_count = 0;  // elements; the only count, if there is one
  std::int64_t receive_count = 0;
  std::vector<std::int64_t> send_counts;  // elements, by rank
  std::vector<std::int64_t> receive_counts;
  std::vector<std::int64_t> destinations;  // neighbourhood collectives only
  std::vector<std::int64_t> sources;
  std::int64_t send_width = 0;  // bytes of an element; of the only type, if there is one
  std::int64_t receive_width = 0;
  double flops = 0;  // reducescatter only
};

// Finds a collective by name. Raises tisim.errors.InputError, which suggests the closest names.
Operation collective_named(std::string_view name);

}  // namespace tisim
