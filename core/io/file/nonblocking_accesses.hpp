// Reads and writes of files that overlap with their ranks.
//
// Each is an activity. The rank's request is that of a message without a receiver, which arrives
// when the activity ends, so waits and tests need no special case for files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "mpi/matcher.hpp"
#include "mpi/point_to_point.hpp"
#include "mpi/request_table.hpp"
#include "mpi/runtime.hpp"
#include "transfer/activities.hpp"

namespace tisim {

class NonblockingAccesses {
 public:
  NonblockingAccesses(const Runtime& runtime, Activities& activities, Matcher& matcher,
                      RequestTable& requests, PointToPoint& messages)
      : runtime_(runtime),
        activities_(activities),
        matcher_(matcher),
        requests_(requests),
        messages_(messages) {}

  // Adds a pending request of the rank and returns the activity whose end completes it.
  std::int32_t begin(Rank& rank, std::int32_t index);
  // The same for an access that takes no time.
  void begin_empty(Rank& rank) { requests_.add_unnamed(rank, kSender, -1); }
  // Starts a split collective call, identified by the key of its handle: an activity without a
  // request.
  std::int32_t begin_split(std::uint64_t handle);
  // Ends a split collective call. Returns false if the rank waits; it is woken at the end.
  bool end_split(std::uint64_t handle, std::int32_t rank);
  // Handles the end of an activity. Returns false if it is not one of these.
  bool end(std::int32_t activity, bool failed);

  // Checks that each has a message. Throws BrokenInvariant.
  void verify() const;

 private:
  struct SplitCall {
    bool has_ended = false;
    std::int32_t waiting = -1;  // the rank in the second step
  };

  Runtime runtime_;
  Activities& activities_;
  Matcher& matcher_;
  RequestTable& requests_;
  PointToPoint& messages_;
  std::unordered_map<std::int32_t, std::int32_t> message_of_;  // by activity
  std::unordered_map<std::uint64_t, SplitCall> splits_;        // by handle
  std::unordered_map<std::int32_t, std::uint64_t> split_of_;   // by activity
};

}  // namespace tisim
