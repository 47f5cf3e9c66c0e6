// Collectives: schedules of point-to-point operations, made by Python on demand and kept.

#include <algorithm>
#include <stdexcept>

#include "engine/simulation.hpp"

namespace tisim {

std::int32_t Communicator::number_of(std::int32_t rank) const {
  if (members.empty()) return rank - first;
  const auto found = std::find(members.begin(), members.end(), rank);
  return found == members.end() ? -1 : static_cast<std::int32_t>(found - members.begin());
}

std::int32_t Simulation::comm_index(const Rank& rank, std::uint16_t id) const {
  if (id == 0) return jobs_[at(rank.job)].world;
  const auto found = comm_of_.find(static_cast<std::uint64_t>(rank.first + rank.number) << 16 | id);
  if (found == comm_of_.end()) {
    throw std::out_of_range("communicator " + std::to_string(id) + " is unknown");
  }
  return found->second;
}

std::int32_t Simulation::number_in(const Rank& rank, std::uint16_t comm) const {
  return communicators_[at(comm_index(rank, comm))].number_of(rank.first + rank.number);
}

// Every rank of a communicator makes the same collective calls in the same order. False: this one
// does not.
bool Simulation::count_collective(const Rank& rank, std::int32_t comm, Operation operation) {
  Communicator& communicator = communicators_[at(comm)];
  if (communicator.entered.empty()) communicator.entered.resize(at(communicator.size));
  const auto number = at(communicator.number_of(rank.first + rank.number));
  const std::uint64_t sequence = communicator.entered[number]++;
  const auto place = static_cast<std::size_t>(sequence - communicator.first_open);
  if (place == communicator.open.size()) {
    communicator.open.push_back({operation, rank.first + rank.number, rank.op.line, 0});
  }
  OpenCollective& collective = communicator.open[place];
  if (collective.operation != operation) {
    mismatch_ = {collective, {operation, rank.first + rank.number, rank.op.line, 0}};
    return false;
  }
  ++collective.entered;
  while (!communicator.open.empty() && communicator.open.front().entered == communicator.size) {
    communicator.open.pop_front();
    ++communicator.first_open;
  }
  return true;
}

bool Simulation::enter_collective(Rank& rank, std::int32_t index) {
  const auto call = static_cast<std::uint32_t>(rank.op.call);
  const std::int32_t comm = comm_index(rank, rank.op.comm);
  if (!count_collective(rank, comm, jobs_[at(rank.job)].calls[call].operation)) {
    stop_ = Stop::mismatch;
    return false;
  }
  rank.collective = rank.op;
  const auto found = schedule_of_.find(schedule_key(index, call));
  if (found != schedule_of_.end()) {
    const Schedule& schedule = schedules_[at(found->second)];
    if (schedule.context == 2 * comm + 1 && schedule.epoch == rank.epoch) {
      start_schedule(rank, found->second);
      return true;
    }
  }
  rank.phase = Phase::needs_schedule;
  need_ = {index, comm, call};
  stop_ = Stop::need_schedule;
  return false;
}

void Simulation::start_schedule(Rank& rank, std::int32_t index) {
  const Schedule& schedule = schedules_[at(index)];
  rank.schedule = index;
  rank.step = 0;
  rank.slots.assign(at(schedule.slots), -1);
}

void Simulation::leave_collective(Rank& rank) {
  rank.schedule = -1;
  rank.op = rank.collective;
}

void Simulation::provide_schedule(std::span<const std::int32_t> codes,
                                  std::span<const std::int32_t> peers,
                                  std::span<const double> sizes, std::span<const std::int32_t> tags,
                                  std::span<const std::int32_t> slots, bool last) {
  static constexpr Kind kinds[] = {Kind::send,      Kind::ssend,  Kind::isend,   Kind::recv,
                                   Kind::irecv,     Kind::wait,   Kind::waitall, Kind::sendrecv,
                                   Kind::recv_half, Kind::compute};
  const Communicator& communicator = communicators_[at(need_.comm)];
  Schedule schedule;
  Rank& rank = ranks_[at(need_.rank)];
  schedule.context = 2 * need_.comm + 1;
  schedule.epoch = rank.epoch;
  schedule.ops.reserve(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    Op op;
    op.kind = kinds[codes[i]];
    op.flags = kContinuation;
    op.tag = tags[i];
    op.peer = peers[i];
    const bool has_peer =
        op.kind != Kind::wait && op.kind != Kind::waitall && op.kind != Kind::compute;
    if (has_peer && op.peer != kAnySource) op.peer = communicator.member(op.peer);
    if (op.kind == Kind::compute) {
      op.amount = sizes[i];
    } else {
      op.bytes = static_cast<std::int64_t>(sizes[i]);
    }
    op.line = static_cast<std::uint32_t>(std::max(slots[i], 0));
    schedule.slots = std::max(schedule.slots, slots[i] + 1);
    schedule.ops.push_back(op);
  }
  const auto index = static_cast<std::int32_t>(schedules_.size());
  schedules_.push_back(std::move(schedule));
  schedule_of_[schedule_key(need_.rank, need_.call)] = index;
  start_schedule(rank, index);
  if (last) ++rank.epoch;
  wake_first(need_.rank);
}

Op Simulation::take_half(Rank& rank) {
  if (rank.schedule >= 0) return schedules_[at(rank.schedule)].ops[rank.step++];
  if (rank.cursor == rank.filled) refill(rank, rank.first + rank.number);
  return rank.buffer[rank.cursor++];
}

}  // namespace tisim
