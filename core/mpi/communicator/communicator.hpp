// Communicators: who is in them, and what some of their ranks have entered and others have not.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "trace/vocabulary/call.hpp"

namespace tisim {

// A collective that some ranks of a communicator have entered and others have not.
struct OpenCollective {
  Operation operation = Operation::barrier;
  bool blocking = true;
  std::int32_t rank = 0;  // who entered first
  std::uint32_t line = 0;
  std::int32_t entered = 0;
};

// A comm_split or comm_dup that ranks are in: what they said, and what they get.
struct Formation {
  struct Member {
    std::int32_t color = 0;
    std::int64_t key = 0;
    std::int32_t comm = -1;    // index of the communicator it is in then
    std::int32_t number = -1;  // in it
  };
  std::uint16_t id = 0;         // of the new communicator, as the first to enter names it
  std::int32_t first = 0;       // that rank
  std::uint32_t line = 0;       // of its trace
  std::int32_t left = 0;        // ranks that are still to leave
  std::vector<Member> members;  // by their rank in the parent
};

struct Communicator {
  std::int32_t first = 0;  // of ranks that follow one another, when `members` is empty
  std::int32_t size = 0;
  std::int32_t context = 0;  // its messages', even; those of its collectives have the next number
  std::int32_t freed = 0;    // members that have freed it
  std::vector<std::int32_t> members;
  std::vector<std::uint64_t> entered;  // collectives that each member has entered
  std::deque<OpenCollective> open;
  std::uint64_t first_open = 0;
  std::vector<std::int32_t> synchronising;  // ranks that wait for the others before a collective
  std::map<std::uint64_t, Formation> formations;  // by the number of the collective

  std::int32_t member(std::int32_t i) const {
    return members.empty() ? first + i : members[static_cast<std::size_t>(i)];
  }
};

}  // namespace tisim
