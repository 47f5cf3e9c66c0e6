// Communicators: members, lookup by index and by trace ids, and the addressing of messages.
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

// Members of communicators, and the collectives that only some ranks have entered.

// A collective that some ranks of a communicator have entered and others have not.
struct OpenCollective {
  Operation operation = Operation::barrier;
  bool blocking = true;
  std::int32_t rank = 0;  // the first to enter
  std::uint32_t line = 0;
  std::int32_t entered = 0;
};

// A comm_split or comm_dup in progress: the ranks' arguments and results.
struct Formation {
  struct Member {
    std::int32_t color = 0;
    std::int64_t key = 0;
    std::int32_t comm = -1;    // index of its new communicator
    std::int32_t number = -1;  // rank in it
  };
  std::uint16_t id = 0;         // id of the new communicator, from the first rank to enter
  std::int32_t first = 0;       // the first rank to enter
  std::uint32_t line = 0;       // its line in the trace
  std::int32_t left = 0;        // ranks that have not left yet
  std::vector<Member> members;  // by parent rank
};

struct Communicator {
  std::int32_t first = 0;  // first of consecutive ranks, used when `members` is empty
  std::int32_t size = 0;
  std::int32_t context = 0;  // even; its messages use it, its collectives the next number
  std::int32_t freed = 0;    // members that have freed it
  std::vector<std::int32_t> members;
  std::vector<std::uint64_t> entered;  // number of collectives entered, by member
  std::deque<OpenCollective> open;
  std::uint64_t first_open = 0;
  std::vector<std::int32_t> synchronising;        // ranks waiting to start a collective together
  std::map<std::uint64_t, Formation> formations;  // by sequence number of the collective

  std::int32_t member(std::int32_t i) const {
    return members.empty() ? first + i : members[static_cast<std::size_t>(i)];
  }
};

// All communicators of a simulation, by index, and their collectives in progress.
//
// A trace refers to communicators by its own ids; 0 is the world of its job.
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

  // Creates an empty communicator with its own context and returns its index. References to others
  // remain valid.
  std::int32_t create();

  // The communicator that an id refers to on a rank: its index, and the rank's number in it. Throw
  // TraceError if the rank is not in a communicator of that id.
  std::int32_t index_of(const Rank& rank, std::uint16_t id) const {
    return id == 0 ? runtime_.jobs.of(rank).world : membership(rank, id).comm;
  }
  std::int32_t number_in(const Rank& rank, std::uint16_t id) const {
    return id == 0 ? rank.number : membership(rank, id).number;
  }

  // Enters a rank into a collective. Every rank of a communicator must make the same collective
  // calls in the same order; returns false if this one does not, see `mismatch`.
  bool enter(const Rank& rank, std::int32_t comm, std::int32_t number, Operation operation,
             bool blocking);
  // The collective entered by the other ranks, and the one this rank called.
  const std::pair<OpenCollective, OpenCollective>& mismatch() const { return mismatch_; }

  // Frees the communicator of the rank's operation. Its index may be reused once all members have
  // freed it.
  void free(Rank& rank);
  // Returns the communicators fully freed since the last call.
  std::vector<std::int32_t> take_released() { return std::exchange(released_, {}); }

  // Checks the members, collectives and formations. Throws BrokenInvariant.
  void verify() const;

 private:
  const Membership& membership(const Rank& rank, std::uint16_t id) const;
  void verify(const Communicator& communicator) const;

  Runtime runtime_;
  std::deque<Communicator> communicators_;
  std::vector<std::int32_t> free_;      // unused indices
  std::vector<std::int32_t> released_;  // not reported yet by `take_released`
  std::int32_t contexts_ = 0;
  std::pair<OpenCollective, OpenCollective> mismatch_;
};

// Resolves an operation's peer and communicator to message addresses.
class Addresses {
 public:
  Addresses(const Jobs& jobs, const CommunicatorTable& communicators, const Schedules& schedules)
      : jobs_(jobs), communicators_(communicators), schedules_(schedules) {}

  // The global rank of a rank of the operation's communicator.
  std::int32_t global_rank(const Rank& rank, std::int32_t peer) const {
    if (rank.schedule >= 0) return peer;
    if (rank.op.comm == 0) return rank.first + peer;
    return member(rank, peer);
  }
  // Contexts separate communicators, and collectives from the program's own messages.
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
