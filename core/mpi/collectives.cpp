// Collectives: schedules of point-to-point operations, made by Python on demand and kept.

#include <algorithm>
#include <stdexcept>

#include "mpi/schedule_check.hpp"
#include "simulation/simulation.hpp"

namespace tisim {

const Call& Simulation::call_of(const Rank& rank) const {
  return jobs_[at(rank.job)].calls[rank.collective.call];
}

// Every rank of a communicator makes the same collective calls in the same order. False: this one
// does not.
bool Simulation::count_collective(const Rank& rank, std::int32_t comm, std::int32_t number,
                                  Operation operation, bool blocking) {
  Communicator& communicator = communicators_[at(comm)];
  if (communicator.entered.empty()) communicator.entered.resize(at(communicator.size));
  const std::uint64_t sequence = communicator.entered[at(number)]++;
  const auto place = static_cast<std::size_t>(sequence - communicator.first_open);
  const OpenCollective mine{operation, blocking, rank.first + rank.number, rank.op.line, 0};
  if (place == communicator.open.size()) communicator.open.push_back(mine);
  OpenCollective& collective = communicator.open[place];
  if (collective.operation != operation || collective.blocking != blocking) {
    mismatch_ = {collective, mine};
    stop_ = Stop::mismatch;
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
  const Operation operation =
      jobs_[at(rank.job)].calls[static_cast<std::uint32_t>(rank.op.call)].operation;
  const bool blocking = rank.op.kind == Kind::collective;
  const std::int32_t comm = comm_index(rank, rank.op.comm);
  if (!count_collective(rank, comm, number_in(rank, rank.op.comm), operation, blocking)) {
    return false;
  }
  rank.collective = CollectiveOp(rank.op);
  if (blocking && (model_.synchronised >> static_cast<unsigned>(operation) & 1) != 0) {
    return meet(rank, index);
  }
  return find_schedule(rank, index);
}

// All ranks of a communicator wait for one another, which takes no time. They go on in the order
// in which they came.
bool Simulation::meet(Rank& rank, std::int32_t index) {
  Communicator& communicator = communicators_[at(comm_index(rank, rank.op.comm))];
  communicator.met.push_back(index);
  rank.phase = Phase::meeting;
  if (communicator.met.size() == at(communicator.size)) {
    for (const std::int32_t other : communicator.met) wake(other);
    communicator.met.clear();
  }
  return false;
}

bool Simulation::find_schedule(Rank& rank, std::int32_t index) {
  const CollectiveOp& op = rank.collective;
  const std::int32_t comm = comm_index(rank, op.comm);
  const std::uint64_t key = Schedules::key(index, op.call, op.kind == Kind::collective);
  const std::int32_t found = schedules_.find(key, communicators_[at(comm)].context + 1, rank.epoch);
  if (found < 0) return ask_schedule(rank, index, comm, number_in(rank, op.comm));
  start_schedule(rank, found);
  return true;
}

bool Simulation::ask_schedule(Rank& rank, std::int32_t index, std::int32_t comm,
                              std::int32_t number) {
  const CollectiveOp& op = rank.collective;
  rank.phase = Phase::needs_schedule;
  need_ = {.rank = index,
           .comm = comm,
           .number = number,
           .call = op.call,
           .blocking = op.kind != Kind::icollective,
           .stage = rank.stage};
  stop_ = Stop::need_schedule;
  return false;
}

void Simulation::start_schedule(Rank& rank, std::int32_t index) {
  schedules_.begin(index);
  rank.schedule = index;
  rank.step = 0;
  rank.slots.clear();
  rank.slots.resize(at(schedules_.slots(index)), -1);
}

bool Simulation::end_schedule(Rank& rank, std::int32_t index) {
  schedules_.end(rank.schedule);
  rank.schedule = -1;
  if (recorder_) record_action(index, Op{}, 1);
  rank.op = rank.collective.op();
  if (rank.op.kind == Kind::icollective) list_collective(rank);
  return rank.stage == Stage::none || next_stage(rank, index);
}

// SimGrid's tag of a non-blocking collective, which its tracer writes in the wait for it.
std::int32_t pending_tag(Operation operation) {
  switch (operation) {
    case Operation::barrier:
      return -779;
    case Operation::bcast:
      return -3335;
    case Operation::reduce:
      return -113;
    case Operation::allreduce:
      return -4446;
    case Operation::alltoall:
      return -1113;
    case Operation::alltoallv:
      return -1001;
    case Operation::gather:
      return -446;
    case Operation::gatherv:
      return -2224;
    case Operation::scatter:
      return -224;
    case Operation::scatterv:
      return -335;
    case Operation::allgather:
      return -557;
    case Operation::allgatherv:
      return -668;
    case Operation::reducescatter:
      return -890;
    default:
      return -889;  // scan, exscan
  }
}

// A non-blocking collective has started its requests: they are pending as one. A broadcast in a
// communicator of one rank has none at all, as in SimGrid.
void Simulation::list_collective(Rank& rank) {
  const Operation operation = call_of(rank).operation;
  if (operation == Operation::bcast && rank.slots.empty() &&
      communicators_[at(comm_index(rank, rank.op.comm))].size == 1) {
    return;
  }
  const std::int32_t index = requests_.acquire();
  Request& request = requests_[index];
  request.type = RequestType::collective;
  request.order = rank.request_order++;
  request.tag = pending_tag(operation);
  request.complete = true;
  request.origin = started_.acquire();
  started_[request.origin].requests.assign(rank.slots.begin(), rank.slots.end());
  list_request(rank, index);
  ++rank.pending_collectives;
}

void Simulation::provide_schedule(std::span<const std::int32_t> codes,
                                  std::span<const std::int32_t> peers,
                                  std::span<const double> sizes, std::span<const std::int32_t> tags,
                                  std::span<const std::int32_t> slots, bool last) {
  static constexpr Kind kinds[] = {Kind::send,      Kind::ssend,  Kind::isend,   Kind::recv,
                                   Kind::irecv,     Kind::wait,   Kind::waitall, Kind::sendrecv,
                                   Kind::recv_half, Kind::compute};
  if (stop_ != Stop::need_schedule) throw std::logic_error("no schedule was asked for");
  const Communicator& communicator = communicators_[at(need_.comm)];
  check_schedule({codes, peers, sizes, tags, slots}, communicator.size, need_.blocking);
  stop_ = Stop::done;
  Rank& rank = ranks_[at(need_.rank)];
  Schedule schedule;
  schedule.context = communicator.context + 1;
  schedule.epoch = rank.epoch;
  schedule.key = Schedules::key(need_.rank, need_.call, need_.blocking);
  schedule.kept = need_.stage == Stage::none;
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
  start_schedule(rank, schedules_.add(std::move(schedule)));
  if (last) ++rank.epoch;
  wake_first(need_.rank);
}

Op Simulation::take_half(Rank& rank) {
  if (rank.schedule >= 0) return schedules_.op(rank.schedule, rank.step++);
  if (rank.cursor == rank.buffer.size()) refill(rank, rank.first + rank.number);
  return rank.buffer[rank.cursor++];
}

}  // namespace tisim
