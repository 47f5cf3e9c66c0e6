// Collective reads and writes that an algorithm carries out (two-phase I/O, ADR 42).
//
// A call goes through two stages, each a schedule of its rank that Python writes: in `parts` the
// ranks tell each other what they want of the file, so behind it all of them have come; in
// `transfer` they move data, by messages and by reads and writes of the ranks that the algorithm
// chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mpi/mpi.hpp"
#include "mpi/runtime.hpp"
#include "trace/vocabulary/file_view.hpp"

namespace tisim {

// The requests of the ranks of a communicator for a file.
struct CollectiveTransfer {
  std::int64_t number = 0;  // in the simulation
  bool writes = false;
  std::int32_t disk = -1;             // that holds the file; file systems count after all disks
  std::int32_t comm = 0;              // index
  std::int32_t entered = 0;           // ranks
  std::int32_t left = 0;              // ranks that are still in it
  std::vector<std::int64_t> offsets;  // by rank of the communicator
  std::vector<std::int64_t> bytes;
  // Offsets and bytes of each rank, where views leave holes in some part; empty: nowhere.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> pieces;
  std::int64_t count = 0;  // of pieces
};

class CollectiveTransfers {
 public:
  CollectiveTransfers(const Runtime& runtime, Mpi& mpi) : runtime_(runtime), mpi_(mpi) {}
  CollectiveTransfers(const CollectiveTransfers&) = delete;
  CollectiveTransfers& operator=(const CollectiveTransfers&) = delete;

  // A rank's request for a file.
  struct Part {
    std::int32_t handle = 0;
    std::int32_t disk = -1;
    bool writes = false;
    std::int64_t position = 0;  // in the view
    std::int64_t offset = 0;    // in the file
    std::int64_t bytes = 0;
    const FileView* view = nullptr;  // that leaves holes in the part
  };
  // A rank enters, its operation is the barrier of the call. False: a schedule is asked for, or the
  // ranks of the communicator call different collectives.
  bool enter(Rank& rank, std::int32_t index, const Part& part);
  // The schedule of the stage that the rank is in has ended.
  bool next_stage(Rank& rank, std::int32_t index);

  // The request of a rank that is in a call.
  const Part& part_of(std::int32_t index) const { return ranks_.at(index).part; }
  const CollectiveTransfer& of_rank(std::int32_t index) const {
    return open_.at(ranks_.at(index).key);
  }

 private:
  // Index of the communicator, and the number of the call among its collectives.
  using Key = std::pair<std::int32_t, std::uint64_t>;
  struct Member {
    Key key;
    Part part;
    std::int32_t number = 0;  // in the communicator
  };
  // A plan of more pieces in one call would take too much memory.
  static constexpr std::int64_t kMostPieces = std::int64_t{1} << 22;

  void add_pieces(const Rank& rank, CollectiveTransfer& transfer, std::size_t place,
                  const Part& part) const;

  Runtime runtime_;
  Mpi& mpi_;
  std::map<Key, CollectiveTransfer> open_;
  std::unordered_map<std::int32_t, Member> ranks_;  // that are in a call
  std::int64_t calls_ = 0;
};

}  // namespace tisim
