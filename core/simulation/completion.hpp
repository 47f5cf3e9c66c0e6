// What a simulation tells whoever runs it: something that was waited for is over.
#pragma once

#include <cstdint>

namespace tisim {

enum class CompletionType : std::uint8_t {
  activity,         // a computation or transfer that was posted from outside
  failed_activity,  // one that has failed
  rank,             // the operation that was posted to a rank
  job               // all ranks of a job have finished
};

struct Completion {
  CompletionType type;
  std::int32_t index;
};

}  // namespace tisim
