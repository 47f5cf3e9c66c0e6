// The numbers of a collective by their meaning.
#pragma once

#include <cstdint>
#include <span>

#include "trace/vocabulary/call.hpp"

namespace tisim {

// Of a call over `size` ranks. Sizes are in bytes of one rank's part, `vector` in elements.
struct CollectiveArguments {
  CollectiveArguments(const Call& call, std::int64_t size);

  bool valid = false;  // whether their number fits; the rest means nothing if it does not
  std::int64_t root = 0;
  std::int64_t send_bytes = 0;
  std::int64_t receive_bytes = 0;
  std::int64_t send_width = 0;  // bytes of an element
  std::int64_t receive_width = 0;
  std::span<const double> send_counts;     // of alltoallv and scatterv
  std::span<const double> receive_counts;  // of the other collectives with vectors
};

bool is_rooted(Operation operation);

}  // namespace tisim
