#include "trace/walk/rank_walk.hpp"

#include <utility>

#include "support/mixing.hpp"

namespace tisim {

bool is_collective(Kind kind) {
  return has_collective_call(kind) || (makes_communicator(kind) && kind != Kind::comm_group);
}

RankWalk::RankWalk(const TraceSet& set, const Communicators& communicators, std::int32_t rank,
                   const Progress* again, std::size_t batch, std::shared_ptr<CallTable> calls)
    : communicators_(&communicators),
      again_(again),
      rank_(rank),
      calls_(calls ? std::move(calls) : std::make_shared<CallTable>()),
      reader_(set.open(rank, *calls_)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(batch * sizeof(Op))),
      ops_(reinterpret_cast<Op*>(buffer_.get())),
      batch_(batch),
      world_{communicators.world(rank)} {}

std::shared_ptr<CallTable> RankWalk::shared_calls(const TraceSet& set) {
  return set.shares_lines() ? std::make_shared<CallTable>() : nullptr;
}

bool RankWalk::next() {
  if (++at_ >= count_ && !refill()) return false;
  const Op& op = ops_[at_];
  Open* open = &world_;
  if (op.comm != 0) {
    const auto other = others_.find(op.comm);
    if (other == others_.end()) {
      group_ = {kNoGroup, 0, 0};
      open = nullptr;
    } else {
      open = &other->second;
    }
  }
  if (open != nullptr) {
    group_ = open->membership;
    number_ = open->collectives;
    if (is_collective(op.kind)) ++open->collectives;
  }
  if (makes_communicator(op.kind)) {
    const auto id = static_cast<std::uint16_t>(call().arguments[1]);
    others_[id] = {communicators_->made(rank_, made_++)};
  } else if (op.kind == Kind::comm_free) {
    others_.erase(op.comm);
  }
  return true;
}

CommunicatorView RankWalk::group_of(std::uint16_t comm) const {
  if (comm == 0) return world_.membership;
  const auto other = others_.find(comm);
  return other == others_.end() ? CommunicatorView{kNoGroup, 0, 0} : other->second.membership;
}

std::uint64_t RankWalk::signature() const {
  std::uint64_t hash = made_;
  for (const auto& [id, open] : others_) {
    hash = mixed(mixed(hash, id), open.membership.group);
  }
  return hash;
}

bool RankWalk::refill() {
  at_ = 0;
  count_ = reader_->read(ops_, batch_);
  if (again_ != nullptr) report_progress(*again_, 1.0);
  return count_ > 0;
}

}  // namespace tisim
