// Requests of MPI: what a rank may wait for or test.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/rank/rank.hpp"

namespace tisim {

// Flags of an operation that the runtime inserts; traces have none of these.
// In a wait or test: `bytes` is the index of the request; in a start: of the persistent one. In a
// waitall or waitany: the indexes are listed in the rank's optional state.
inline constexpr std::uint8_t kByNumber = 128;
// In a test: it ends the test of a non-blocking collective, all of whose requests were tested.
inline constexpr std::uint8_t kEndsCollectiveTest = 64;
static_assert((kByNumber & kEndsCollectiveTest) == 0 &&
              ((kByNumber | kEndsCollectiveTest) &
               (kContinuation | kNullIsMistaken | kSourceLost | kNumbered)) == 0);

// Whether a list of requests begins to be waited for or tested, and does not go on.
inline bool begins_list(const Op& op) {
  return (op.flags & (kNumbered | kContinuation)) == kNumbered;
}

enum class RequestType : std::uint8_t { message, persistent, collective };

// A pending request of a rank, or one of a collective's schedule. There may be millions of them.
struct Request {
  std::int32_t message = -1;                          // -1: there is nothing to wait for
  std::int32_t next = -1, previous = -1;              // in the order of posting
  std::int32_t source = 0, destination = 0, tag = 0;  // the key, as the trace names it
  std::uint32_t order = 0;
  // Of a persistent request: its place in the rank. Of a collective: the StartedCollective. Of a
  // message: the number by which the trace names the request, -1: none.
  std::int32_t origin = -1;
  std::uint16_t comm = 0;
  Side side = kSender;
  RequestType type : 2 = RequestType::message;
  bool complete : 1 = false;
  bool awaited : 1 = false;      // by the waitall that the rank is in
  bool listed : 1 = false;       // among the rank's pending requests
  bool source_lost : 1 = false;  // whoever waits for it may name any source
  bool freed : 1 = false;        // nobody waits for it, its message goes on
};
static_assert(sizeof(Request) == 36);
static_assert(static_cast<unsigned>(RequestType::collective) < 4, "fits its bit field");

// The requests that a pending non-blocking collective is made of; -1 for those that are finished.
struct StartedCollective {
  std::vector<std::int32_t> requests;
  std::int32_t number = -1;  // by which the trace names it, -1: none
};

}  // namespace tisim
