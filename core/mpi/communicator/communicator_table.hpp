// All communicators of a simulation, by index, and the collectives that their ranks are in.
//
// A trace names communicators by ids of its own; the world of its job is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "mpi/communicator/communicator.hpp"
#include "mpi/rank/runtime.hpp"

namespace tisim {

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

  // What a rank means by the id of a communicator: its index, and the rank's number in it. A
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
  // Those that nobody is in any more, since the last call.
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

}  // namespace tisim
