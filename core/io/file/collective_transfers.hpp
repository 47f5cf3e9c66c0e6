// Collective reads and writes executed by an algorithm (two-phase I/O, ADR 42).
//
// A call has two stages, each with a schedule per rank that Python generates: in `parts` the ranks
// exchange their requests, so all of them have entered when it ends; in `transfer` they move the
// data, by messages and by reads and writes of the ranks that the algorithm chooses.
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

// The file requests of the ranks of a communicator.
struct CollectiveTransfer {
  std::int64_t number = 0;  // sequence number in the simulation
  bool writes = false;
  std::int32_t disk = -1;             // disk of the file; file systems are numbered after all disks
  std::int32_t comm = 0;              // index
  std::int32_t entered = 0;           // ranks
  std::int32_t left = 0;              // ranks that have not left yet
  std::vector<std::int64_t> offsets;  // by rank of the communicator
  std::vector<std::int64_t> bytes;
  // Offset and size of each piece, by rank; empty if views leave no holes in any part.
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> pieces;
  std::int64_t count = 0;  // total number of pieces
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
    std::int64_t position = 0;  // position in the view
    std::int64_t offset = 0;    // offset in the file
    std::int64_t bytes = 0;
    const FileView* view = nullptr;  // set if it leaves holes in the part
  };
  // Enters a rank whose operation is the barrier of the call. Returns false if a schedule is
  // needed, or the ranks of the communicator call different collectives.
  bool enter(Rank& rank, std::int32_t index, const Part& part);
  // Called when the schedule of the rank's current stage has ended.
  bool next_stage(Rank& rank, std::int32_t index);

  // The request of a rank in a call.
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
    std::int32_t number = 0;  // rank in the communicator
  };
  // Maximum number of pieces per call, which limits the memory of a plan.
  static constexpr std::int64_t kMaxPieces = std::int64_t{1} << 22;

  void add_pieces(const Rank& rank, CollectiveTransfer& transfer, std::size_t place,
                  const Part& part) const;

  Runtime runtime_;
  Mpi& mpi_;
  std::map<Key, CollectiveTransfer> open_;
  std::unordered_map<std::int32_t, Member> ranks_;  // ranks in a call
  std::int64_t calls_ = 0;
};

}  // namespace tisim
