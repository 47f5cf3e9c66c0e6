#include "mpi/communicators.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "support/invariant.hpp"

namespace tisim {

const Membership& CommunicatorTable::membership(const Rank& rank, std::uint16_t id) const {
  for (const Membership& membership : rank.comms()) {
    if (membership.id == id) return membership;
  }
  runtime_.jobs.fail(rank, "rank " + std::to_string(rank.number) + " is not in a communicator " +
                               std::to_string(id) + " here; create it with comm_split or comm_dup");
}

std::int32_t CommunicatorTable::create() {
  if (contexts_ == std::numeric_limits<std::int32_t>::max() / 2) {
    throw std::length_error("too many communicators");
  }
  std::int32_t index = count();
  if (free_.empty()) {
    communicators_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  (*this)[index].context = 2 * contexts_++;
  return index;
}

bool CommunicatorTable::enter(const Rank& rank, std::int32_t comm, std::int32_t number,
                              Operation operation, bool blocking) {
  Communicator& communicator = (*this)[comm];
  if (communicator.entered.empty()) {
    communicator.entered.resize(static_cast<std::size_t>(communicator.size));
  }
  const std::uint64_t sequence = communicator.entered[static_cast<std::size_t>(number)]++;
  const auto place = static_cast<std::size_t>(sequence - communicator.first_open);
  const OpenCollective mine{operation, blocking, rank.first + rank.number, rank.op.line, 0};
  if (place == communicator.open.size()) communicator.open.push_back(mine);
  OpenCollective& collective = communicator.open[place];
  if (collective.operation != operation || collective.blocking != blocking) {
    mismatch_ = {collective, mine};
    runtime_.interruption.interrupt(Stop::mismatch);
    return false;
  }
  ++collective.entered;
  while (!communicator.open.empty() && communicator.open.front().entered == communicator.size) {
    communicator.open.pop_front();
    ++communicator.first_open;
  }
  return true;
}

void CommunicatorTable::free(Rank& rank) {
  if (rank.op.comm == 0) {
    runtime_.jobs.fail(rank, "communicator 0 is the world, which cannot be freed");
  }
  const std::int32_t comm = membership(rank, rank.op.comm).comm;
  Stack<Membership>& comms = rank.optional_state().comms;
  const auto* const left = std::remove_if(comms.begin(), comms.end(),
                                          [comm](const Membership& m) { return m.comm == comm; });
  comms.resize(static_cast<std::size_t>(left - comms.begin()), {});
  Communicator& communicator = (*this)[comm];
  if (++communicator.freed < communicator.size) return;
  communicator = Communicator{};
  free_.push_back(comm);
  released_.push_back(comm);
}

void CommunicatorTable::verify() const {
  std::vector<bool> unused(communicators_.size());
  for (const std::int32_t index : free_) {
    ensure(!unused.at(static_cast<std::size_t>(index)), "a communicator is released once");
    unused[static_cast<std::size_t>(index)] = true;
  }
  std::vector<std::int32_t> contexts;
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    if (unused[i]) continue;
    verify(communicators_[i]);
    contexts.push_back(communicators_[i].context);
  }
  std::sort(contexts.begin(), contexts.end());
  ensure(std::adjacent_find(contexts.begin(), contexts.end()) == contexts.end(),
         "each communicator has its own context");
  for (const Rank& rank : runtime_.ranks.all()) {
    for (const Membership& membership : rank.comms()) {
      const auto comm = static_cast<std::size_t>(membership.comm);
      ensure(comm < communicators_.size() && !unused[comm], "ranks are in communicators in use");
      ensure(communicators_[comm].member(membership.number) == rank.first + rank.number,
             "ranks have their numbers in their communicators");
    }
  }
}

void CommunicatorTable::verify(const Communicator& communicator) const {
  const auto size = static_cast<std::size_t>(communicator.size);
  ensure(communicator.context >= 0 && communicator.context % 2 == 0 &&
             communicator.context < 2 * contexts_,
         "contexts of communicators are even");
  ensure(communicator.members.empty() || communicator.members.size() == size,
         "the number of listed members of a communicator is its size");
  for (std::int32_t i = 0; i < communicator.size; ++i) {
    ensure(static_cast<std::size_t>(communicator.member(i)) < runtime_.ranks.size(),
           "members of a communicator are ranks");
  }
  ensure(communicator.freed >= 0 && communicator.freed < std::max(communicator.size, 1),
         "a communicator freed by all members is released");
  ensure(communicator.entered.empty() || communicator.entered.size() == size,
         "a communicator counts the collectives of each member");
  ensure(communicator.synchronising.size() < std::max<std::size_t>(size, 1),
         "not all ranks of a communicator wait for a synchronisation");
  for (std::size_t i = 0; i < communicator.open.size(); ++i) {
    const std::uint64_t sequence = communicator.first_open + i;
    const auto entered = std::count_if(communicator.entered.begin(), communicator.entered.end(),
                                       [&](std::uint64_t count) { return count > sequence; });
    // A rank that calls a mismatching collective is counted, but has not entered.
    ensure(communicator.open[i].entered <= entered,
           "ranks enter the collectives of a communicator in order");
    ensure(communicator.open[i].entered < communicator.size, "an open collective lacks a rank");
  }
  for (const auto& [sequence, formation] : communicator.formations) {
    ensure(formation.members.size() == size, "a comm_split has a color and a key for each member");
    ensure(formation.left > 0 && formation.left <= communicator.size,
           "a formation left by all ranks is released");
  }
}

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
