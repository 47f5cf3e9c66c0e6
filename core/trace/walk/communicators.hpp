// The ranks of each communicator of a trace.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "support/progress.hpp"
#include "trace/archive/trace_set.hpp"

namespace tisim {

inline bool makes_communicator(Kind kind) { return role_of(kind) == Role::make_communicator; }

// A communicator as seen by one of its ranks.
struct CommunicatorView {
  std::uint32_t group = 0;  // 0: the world; kNoGroup: this rank is not in it
  std::int32_t rank = 0;    // this rank's number in it
  std::int32_t size = 0;
};

inline constexpr std::uint32_t kNoGroup = 0xffffffffU;

class Communicators {
 public:
  // Contains only the world.
  explicit Communicators(std::int32_t ranks) : ranks_(ranks) {}

  // Reads the trace and follows its comm_split and comm_dup. If the ranks disagree on them, which
  // the check of collective order reports, undetermined communicators have no ranks. Throws
  // TraceError.
  static Communicators of(const TraceSet& set, const Progress& progress);

  CommunicatorView world(std::int32_t rank) const { return {0, rank, ranks_}; }
  // The communicator created by the comm_split or comm_dup number `index` of `rank`.
  CommunicatorView made(std::int32_t rank, std::size_t index) const;
  // The world rank of a rank of a group.
  std::int32_t world_rank(std::uint32_t group, std::int32_t rank) const;
  std::int32_t size(std::uint32_t group) const;
  std::size_t groups() const { return members_.size() + 1; }

 private:
  friend class CommunicatorBuilder;

  std::int32_t ranks_;
  std::vector<std::vector<CommunicatorView>> made_;  // by rank
  std::vector<std::vector<std::int32_t>> members_;   // of groups from 1 on
};

}  // namespace tisim
