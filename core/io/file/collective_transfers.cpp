#include "io/file/collective_transfers.hpp"

#include <string>

namespace tisim {

bool CollectiveTransfers::enter(Rank& rank, std::int32_t index, const Part& part) {
  const std::int32_t comm = mpi_.communicators.index_of(rank, rank.op.comm);
  const std::int32_t number = mpi_.communicators.number_in(rank, rank.op.comm);
  if (!mpi_.communicators.enter(rank, comm, number, Operation::barrier, true)) return false;
  const Communicator& communicator = mpi_.communicators[comm];
  const auto place = static_cast<std::size_t>(number);
  const Key key{comm, communicator.entered[place]};
  const auto [entry, is_new] = open_.try_emplace(key);
  CollectiveTransfer& transfer = entry->second;
  if (is_new) {
    transfer.number = calls_++;
    transfer.writes = part.writes;
    transfer.disk = part.disk;
    transfer.comm = comm;
    transfer.left = communicator.size;
    transfer.offsets.resize(static_cast<std::size_t>(communicator.size));
    transfer.bytes.resize(static_cast<std::size_t>(communicator.size));
  }
  if (transfer.writes != part.writes) {
    runtime_.jobs.fail(rank, "some ranks read in this collective call, but others write");
  }
  ++transfer.entered;
  transfer.offsets[place] = part.offset;
  transfer.bytes[place] = part.bytes;
  if (part.view != nullptr) add_pieces(rank, transfer, place, part);
  ranks_[index] = {key, part, number};
  rank.collective = CollectiveOp(rank.op);
  rank.stage = Stage::parts;
  return mpi_.collectives.ask_schedule(rank, index, comm, number);
}

void CollectiveTransfers::add_pieces(const Rank& rank, CollectiveTransfer& transfer,
                                     std::size_t place, const Part& part) const {
  transfer.pieces.resize(transfer.offsets.size());
  auto& pieces = transfer.pieces[place];
  part.view->for_each_piece(
      part.position, part.bytes, [&](std::int64_t offset, std::int64_t bytes) {
        if (++transfer.count > kMaxPieces) {
          runtime_.jobs.fail(rank, "this collective call has more than " +
                                       std::to_string(kMaxPieces) +
                                       " pieces of the file, too many for two-phase I/O; "
                                       "use tisim/collective-io:independent");
        }
        pieces.emplace_back(offset, bytes);
      });
}

bool CollectiveTransfers::next_stage(Rank& rank, std::int32_t index) {
  const Member member = ranks_.at(index);
  CollectiveTransfer& transfer = open_.at(member.key);
  if (rank.stage == Stage::parts) {
    if (transfer.entered < mpi_.communicators[transfer.comm].size) {
      runtime_.jobs.fail(
          rank,
          "this rank continues before all ranks have stated their parts of the file: an "
          "allgather or allreduce algorithm omits messages");
    }
    rank.stage = Stage::transfer;
    return mpi_.collectives.ask_schedule(rank, index, transfer.comm, member.number);
  }
  rank.stage = Stage::none;
  ranks_.erase(index);
  if (--transfer.left == 0) open_.erase(member.key);
  return true;
}

}  // namespace tisim
