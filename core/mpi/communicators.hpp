// Communicators: their members, by index and by the ids of traces, and where their messages go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "mpi/runtime.hpp"
#include "mpi/schedules.hpp"
#include "trace/vocabulary/call.hpp"

namespace tisim {

// Communicators: who is in them, and what some of their ranks have entered and others have not.

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

// All communicators of a simulation, by index, and the collectives that their ranks are in.
//
// A trace names communicators by ids of its own; the world of its job is 0.
class CommunicatorTable {
 public:
  explicit CommunicatorTable(const Runtime& runtime) : runtime_(runtime) {}
  CommunicatorTable(const CommunicatorTable&) = delete;
  CommunicatorTable& operator=(const CommunicatorTable&) = delete;

  Communicator& operator[](std::int32_t index) {
    return communicators_[static_cast<std::size_t>(index)];
  }
  const Communicator& operator[](std::int32_t index) const {
    return communicators_[static_cast<std::size_t>(index)];
  }
  std::int32_t count() const { return static_cast<std::int32_t>(communicators_.size()); }

  // The index of an empty one with a context of its own. References to others stay good.
  std::int32_t create();

  // The communicator that an id stands for on a rank: its index, and the rank's number in it. Throw
  // TraceError where the rank is in none of that id.
  std::int32_t index_of(const Rank& rank, std::uint16_t id) const {
    return id == 0 ? runtime_.jobs.of(rank).world : membership(rank, id).comm;
  }
  std::int32_t number_in(const Rank& rank, std::uint16_t id) const {
    return id == 0 ? rank.number : membership(rank, id).number;
  }

  // A rank enters a collective. Every rank of a communicator makes the same collective calls in the
  // same order; false: this one does not, see `mismatch`.
  bool enter(const Rank& rank, std::int32_t comm, std::int32_t number, Operation operation,
             bool blocking);
  // The collective that others have entered, and what the rank has called instead.
  const std::pair<OpenCollective, OpenCollective>& mismatch() const { return mismatch_; }

  // A rank frees the communicator that its operation names. When its last member has done so, its
  // index may be used again.
  void free(Rank& rank);
  // The communicators that have lost their last member since the last call.
  std::vector<std::int32_t> take_released() { return std::exchange(released_, {}); }

  // Members, collectives and formations of each agree. Throws BrokenInvariant.
  void verify() const;

 private:
  const Membership& membership(const Rank& rank, std::uint16_t id) const;
  void verify(const Communicator& communicator) const;

  Runtime runtime_;
  std::deque<Communicator> communicators_;
  std::vector<std::int32_t> free_;      // indices that are not in use
  std::vector<std::int32_t> released_;  // those that nobody was told of
  std::int32_t contexts_ = 0;
  std::pair<OpenCollective, OpenCollective> mismatch_;
};

// Where the messages of an operation go: what its peer and its communicator mean.
class Addresses {
 public:
  Addresses(const Jobs& jobs, const CommunicatorTable& communicators, const Schedules& schedules)
      : jobs_(jobs), communicators_(communicators), schedules_(schedules) {}

  // The number in the simulation of a rank of the operation's communicator.
  std::int32_t global_rank(const Rank& rank, std::int32_t peer) const {
    if (rank.schedule >= 0) return peer;
    if (rank.op.comm == 0) return rank.first + peer;
    return member(rank, peer);
  }
  // Contexts keep apart the communicators, and collectives from the program's own messages.
  std::int32_t context(const Rank& rank) const {
    if (rank.schedule >= 0) return schedules_.context(rank.schedule);
    if (rank.op.comm == 0) return rank.context;
    return communicators_[communicators_.index_of(rank, rank.op.comm)].context;
  }

 private:
  std::int32_t member(const Rank& rank, std::int32_t peer) const;

  const Jobs& jobs_;
  const CommunicatorTable& communicators_;
  const Schedules& schedules_;
};

}  // namespace tisim
