// Reads and writes of files that go on while their ranks do.
//
// Each is an activity, and the request of its rank is that of a message to nobody, which arrives
// when the activity ends. So waits and tests know nothing of files.
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

class StartedAccesses {
 public:
  StartedAccesses(const Runtime& runtime, Activities& activities, Matcher& matcher,
                  RequestTable& requests, PointToPoint& messages)
      : runtime_(runtime),
        activities_(activities),
        matcher_(matcher),
        requests_(requests),
        messages_(messages) {}

  // A request of the rank is pending until the activity ends, whose number is returned.
  std::int32_t begin(Rank& rank, std::int32_t index);
  // The same for what takes no time.
  void begin_nothing(Rank& rank) { requests_.add_unnamed(rank, kSender, -1); }
  // The first step of a split collective call, by the key of its handle: an activity without a
  // request.
  std::int32_t begin_split(std::uint64_t handle);
  // The second step. False: the rank waits, and is woken at the end.
  bool end_split(std::uint64_t handle, std::int32_t rank);
  // An activity has ended. False: it is none of these.
  bool end(std::int32_t activity, bool failed);

  // Each has a message. Throws BrokenInvariant.
  void verify() const;

 private:
  struct SplitCall {
    bool has_ended = false;
    std::int32_t waiting = -1;  // the rank that is in the second step
  };

  Runtime runtime_;
  Activities& activities_;
  Matcher& matcher_;
  RequestTable& requests_;
  PointToPoint& messages_;
  std::unordered_map<std::int32_t, std::int32_t> message_of_;  // each activity
  std::unordered_map<std::uint64_t, SplitCall> splits_;        // by handle
  std::unordered_map<std::int32_t, std::uint64_t> split_of_;   // each activity
};

}  // namespace tisim
