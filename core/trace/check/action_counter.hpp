// How often each action is called in a trace, and what it sends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/check/check.hpp"
#include "trace/walk/messages.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Counts actions by kind and, for collectives, by operation.
class ActionCounter {
 public:
  // What an operation adds to a count.
  struct Share {
    ActionCount* count = nullptr;
    bool is_action = false;
    double amount = 0;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };

  // Counts the operation at hand with its messages.
  Share take(const RankWalk& walk, const std::vector<TraceMessage>& messages);
  // Counts once more, so often.
  void repeat(const Share& share, std::uint64_t times);
  void report(CheckReport& into) const;

 private:
  std::array<std::array<ActionCount, kOperations>, kKinds> counts_;
  ActionCount* current_ = nullptr;
  std::uint64_t actions_ = 0;
};

}  // namespace tisim
