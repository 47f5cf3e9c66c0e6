// The messages of persistent requests, which depend on what a rank has started before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "trace/archive/trace_set.hpp"
#include "trace/inspect/statistics.hpp"
#include "trace/walk/communicators.hpp"

namespace tisim {

// Reads the ranks that start persistent requests call by call: these are few.
class StartedMessages {
 public:
  // `file` must outlive it.
  explicit StartedMessages(const PackedFile& file) : file_(file) {}

  // Adds the messages that `start` and `startall` send on a rank, `times` times. Throws TraceError.
  void count(std::int32_t rank, std::uint64_t times, Statistics& into);

 private:
  const PackedFile& file_;
  std::shared_ptr<const TraceSet> set_;  // the same file, opened when it is needed
  std::optional<Communicators> communicators_;
};

}  // namespace tisim
