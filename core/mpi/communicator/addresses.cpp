#include "mpi/communicator/addresses.hpp"

#include <string>

namespace tisim {

std::int32_t Addresses::member(const Rank& rank, std::int32_t peer) const {
  const Communicator& communicator = communicators_[communicators_.index_of(rank, rank.op.comm)];
  if (peer >= communicator.size) {
    jobs_.fail(rank, "rank " + std::to_string(peer) + " is not in communicator " +
                         std::to_string(rank.op.comm) + ", whose ranks are 0 to " +
                         std::to_string(communicator.size - 1));
  }
  return communicator.member(peer);
}

}  // namespace tisim
