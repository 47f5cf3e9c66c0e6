// GOAL schedules: for each rank, operations that depend on the end or start of others.
//
// The input format of LogGOPSim (Hoefler, Schneider, Lumsdaine: LogGOPSim, 2010): text, or the
// binary form that its txt2bin makes of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tisim {

// Per rank: an operation number and one bit for its start or end fit in 32 bits.
inline constexpr std::size_t kMaxGoalOps = (std::size_t{1} << 31) - 1;

enum class GoalKind : std::uint8_t { send = 1, receive = 2, compute = 3 };
inline constexpr std::int32_t kGoalAny = -1;  // any source, any tag

struct GoalOp {
  GoalKind kind = GoalKind::compute;
  std::uint8_t cpu = 0;
  std::int32_t peer = 0, tag = 0;
  std::uint32_t needs = 0;  // number of ends and starts that it depends on
  std::int64_t amount = 0;  // bytes, or nanoseconds
};

struct GoalRank {
  std::vector<GoalOp> ops;
  std::vector<std::uint32_t> lines;  // line numbers in the text; empty for a binary schedule
  // Returns the location of an operation: "line 4", or "operation 2" of a binary schedule.
  std::string place(std::uint32_t op) const {
    return lines.empty() ? "operation " + std::to_string(op) : "line " + std::to_string(lines[op]);
  }
  // Operations that depend on the end, or the start, of an operation.
  std::span<const std::uint32_t> after_end(std::uint32_t op) const { return of(op, 0); }
  std::span<const std::uint32_t> after_start(std::uint32_t op) const { return of(op, 1); }

  // Each pair: twice the number of an operation, plus one for its start, and a dependent operation.
  void set_dependencies(std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs);

 private:
  std::span<const std::uint32_t> of(std::uint32_t op, std::uint32_t which) const {
    const std::size_t at = 2 * static_cast<std::size_t>(op) + which;
    return std::span(later_).subspan(first_[at], first_[at + 1] - first_[at]);
  }
  std::vector<std::uint32_t> first_, later_;
};

struct GoalSchedule {
  std::vector<GoalRank> ranks;
};

// An invalid schedule; the line is 0 if unknown.
struct GoalError : std::runtime_error {
  GoalError(const std::string& what, std::size_t at) : std::runtime_error(what), line(at) {}
  std::size_t line;
};

// Throws GoalError.
GoalSchedule read_goal(std::string_view content);

}  // namespace tisim
