// Which ranks the communicators of a trace consist of.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "support/progress.hpp"
#include "trace/archive/trace_set.hpp"

namespace tisim {

inline bool makes_communicator(Kind kind) { return role_of(kind) == Role::make_communicator; }

// A communicator as one of its ranks sees it.
struct CommunicatorView {
  std::uint32_t group = 0;  // 0: the world; kNoGroup: this rank is not in it
  std::int32_t rank = 0;    // this rank's number in it
  std::int32_t size = 0;
};

inline constexpr std::uint32_t kNoGroup = 0xffffffffU;

class Communicators {
 public:
  // The world alone.
  explicit Communicators(std::int32_t ranks) : ranks_(ranks) {}

  // Reads the trace and follows its comm_split and comm_dup. Where the ranks do not agree on them,
  // which the order of collectives shows, what cannot be told has no ranks in it. Throws
  // TraceError.
  static Communicators of(const TraceSet& set, const Progress& progress);

  CommunicatorView world(std::int32_t rank) const { return {0, rank, ranks_}; }
  // The communicator that the comm_split or comm_dup number `index` of `rank` made.
  CommunicatorView made(std::int32_t rank, std::size_t index) const;
  // The rank in the world of a rank of a group.
  std::int32_t world_rank(std::uint32_t group, std::int32_t rank) const;
  std::int32_t size(std::uint32_t group) const;
  std::size_t groups() const { return members_.size() + 1; }

 private:
  friend class CommunicatorBuilder;

  std::int32_t ranks_;
  std::vector<std::vector<CommunicatorView>> made_;  // by rank
  std::vector<std::vector<std::int32_t>> members_;   // of group 1 and the following
};

}  // namespace tisim
