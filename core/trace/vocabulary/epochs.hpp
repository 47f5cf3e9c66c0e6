// The epochs of one rank's windows: the only place that decides which calls on one are invalid.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "trace/vocabulary/op.hpp"

namespace tisim {

// A rank's number for a window, from the call that creates it to `win_free`.
struct Epochs {
  std::uint32_t made = 0;   // line
  std::uint32_t freed = 0;  // line of the last win_free; 0: none
  bool exists = false;
  std::uint16_t comm = 0;
  bool fenced = false;    // a fence has begun an epoch
  bool accessed = false;  // since that fence
  bool started = false;
  bool posted = false;
  bool locked_all = false;
  std::vector<std::int32_t> targets;  // of the win_start
  std::vector<std::int32_t> origins;  // of the win_post
  std::set<std::int32_t> locks;       // individually locked ranks
  std::uint32_t since = 0;            // line that began the most recent epoch

  // The error of a call, for a message; empty if valid. `size`: of the communicator.
  std::string error_of(const Op& op, std::span<const std::int32_t> group, std::int32_t size) const;
  // Applies a valid call. `group`: of a win_post or win_start.
  void take(const Op& op, std::vector<std::int32_t> group);

  bool is_open() const { return started || posted || locked_all || !locks.empty(); }
};

}  // namespace tisim
