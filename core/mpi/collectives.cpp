#include "mpi/collectives.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "mpi/schedule_check.hpp"
#include "support/invariant.hpp"

namespace tisim {

namespace {
static_assert(kStepCodes == static_cast<std::int32_t>(StepCode::file_own) + 1);

// Returns true if all ranks synchronise before a collective of this kind (smpi/barrier-collectives,
// a bit set).
bool synchronises(const Model& model, Operation operation) {
  static_assert(static_cast<unsigned>(Operation::custom) < 32, "each operation has a bit");
  return (model.synchronised >> static_cast<unsigned>(operation) & 1) != 0;
}
}  // namespace

bool Collectives::enter(Rank& rank, std::int32_t index) {
  const Operation operation = runtime_.jobs.call_of(rank).operation;
  const bool blocking = rank.op.kind == Kind::collective;
  const std::int32_t comm = communicators_.index_of(rank, rank.op.comm);
  const std::int32_t number = communicators_.number_in(rank, rank.op.comm);
  if (!communicators_.enter(rank, comm, number, operation, blocking)) return false;
  rank.collective = CollectiveOp(rank.op);
  if (blocking && synchronises(runtime_.model, operation)) return synchronise(rank, index);
  return find_schedule(rank, index);
}

// Synchronises all ranks of a communicator, which takes no time. They continue in order of arrival.
bool Collectives::synchronise(Rank& rank, std::int32_t index) {
  Communicator& communicator = communicators_[communicators_.index_of(rank, rank.op.comm)];
  communicator.synchronising.push_back(index);
  rank.phase = Phase::synchronising;
  messages_.make_progress(index);
  if (communicator.synchronising.size() == static_cast<std::size_t>(communicator.size)) {
    for (const std::int32_t other : communicator.synchronising) runtime_.clock.wake(other);
    communicator.synchronising.clear();
  }
  return false;
}

bool Collectives::find_schedule(Rank& rank, std::int32_t index) {
  const CollectiveOp& op = rank.collective;
  const std::int32_t comm = communicators_.index_of(rank, op.comm);
  const std::uint64_t key = Schedules::key(index, op.call, op.kind == Kind::collective);
  const std::int32_t found = schedules_.find(key, communicators_[comm].context + 1, rank.epoch);
  if (found < 0) return ask_schedule(rank, index, comm, communicators_.number_in(rank, op.comm));
  start_schedule(rank, found);
  return true;
}

bool Collectives::ask_schedule(Rank& rank, std::int32_t index, std::int32_t comm,
                               std::int32_t number) {
  rank.phase = Phase::needs_schedule;
  runtime_.interruption.ask_schedule({.rank = index,
                                      .comm = comm,
                                      .number = number,
                                      .call = rank.collective.call,
                                      .blocking = rank.collective.kind != Kind::icollective,
                                      .stage = rank.stage});
  return false;
}

void Collectives::start_schedule(Rank& rank, std::int32_t index) {
  schedules_.begin(index);
  rank.schedule = index;
  rank.step = 0;
  rank.slots.clear();
  rank.slots.resize(static_cast<std::size_t>(schedules_.slots(index)), -1);
}

bool Collectives::end_schedule(Rank& rank, std::int32_t index) {
  if (schedules_.has_rounds(rank.schedule) && !has_routes(rank, index)) return false;
  const std::int32_t schedule = rank.schedule;
  rank.op = rank.collective.op();
  if (rank.op.kind == Kind::icollective) list_request(rank, index);
  rank.schedule = -1;
  schedules_.end(schedule);
  return true;
}

// Routes cannot be requested between the rounds of a collective, so all are resolved beforehand.
bool Collectives::has_routes(Rank& rank, std::int32_t index) const {
  for (std::size_t step = rank.step; step < schedules_.size(rank.schedule); ++step) {
    const Op op = schedules_.op(rank.schedule, step);
    if (op.kind != Kind::isend || messages_.find_pair(rank, index, op.peer) >= 0) continue;
    rank.phase = Phase::between_operations;
    runtime_.interruption.ask_route(index);
    return false;
  }
  return true;
}

// Adds the request of a started non-blocking collective. A broadcast in a communicator of one rank
// has none, as in SimGrid.
void Collectives::list_request(Rank& rank, std::int32_t index) {
  const Operation operation = runtime_.jobs.collective_of(rank).operation;
  const bool starts_none = operation == Operation::bcast && rank.slots.empty() &&
                           communicators_[communicators_.index_of(rank, rank.op.comm)].size == 1;
  if (schedules_.has_rounds(rank.schedule)) {
    rounds_.begin(rank, index, traits_of(operation).request_tag);
  } else if (!starts_none) {
    requests_.add_collective(rank, traits_of(operation).request_tag,
                             {rank.slots.begin(), rank.slots.end()});
  }
  if ((rank.op.flags & kNumbered) != 0) {
    // The operation was the last one taken from the trace.
    requests_.number_collective(rank, rank.buffer[rank.cursor - 1].tag, !starts_none);
  }
}

void Collectives::provide_schedule(std::span<const std::int32_t> codes,
                                   std::span<const std::int32_t> peers,
                                   std::span<const double> sizes,
                                   std::span<const std::int32_t> tags,
                                   std::span<const std::int32_t> slots, bool last) {
  static constexpr Kind kinds[] = {
      Kind::send,    Kind::ssend,    Kind::isend,       Kind::recv,    Kind::irecv, Kind::wait,
      Kind::waitall, Kind::sendrecv, Kind::recv_half,   Kind::compute, Kind::file,  Kind::file,
      Kind::file,    Kind::file,     Kind::file_offset, Kind::file};
  // File calls of the step codes of kind `file`.
  static constexpr Operation file_calls[] = {Operation::pread,
                                             Operation::pwrite,
                                             Operation::file_iread_at,
                                             Operation::file_iwrite_at,
                                             Operation::barrier /* none: an offset */,
                                             Operation::file_read /* or write: its own part */};
  constexpr auto kFirstFileCode = static_cast<std::int32_t>(StepCode::file_read);
  if (runtime_.interruption.reason() != Stop::need_schedule) {
    throw std::logic_error("no schedule was asked for");
  }
  const Question& asked = runtime_.interruption.question();
  const Communicator& communicator = communicators_[asked.comm];
  check_schedule({codes, peers, sizes, tags, slots}, communicator.size, asked.blocking,
                 asked.stage == Stage::transfer);
  runtime_.interruption.clear();
  Rank& rank = runtime_.ranks[asked.rank];
  Schedule schedule;
  schedule.context = communicator.context + 1;
  schedule.epoch = rank.epoch;
  schedule.key = Schedules::key(asked.rank, asked.call, asked.blocking);
  schedule.kept = asked.stage == Stage::none;
  schedule.ops.reserve(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    Op op;
    op.kind = kinds[codes[i]];
    op.flags = kContinuation;
    op.tag = tags[i];
    op.peer = peers[i];
    const bool is_of_file = codes[i] >= kFirstFileCode;
    if (op.kind == Kind::file) {
      op.tag = static_cast<std::int32_t>(file_calls[codes[i] - kFirstFileCode]);
    }
    const bool has_peer = !is_of_file && op.kind != Kind::wait && op.kind != Kind::waitall &&
                          op.kind != Kind::compute;
    if (has_peer && op.peer != kAnySource) op.peer = communicator.member(op.peer);
    if (op.kind == Kind::compute) {
      op.amount = sizes[i];
    } else {
      op.bytes = static_cast<std::int64_t>(sizes[i]);
    }
    op.line = static_cast<std::uint32_t>(std::max(slots[i], 0));
    schedule.slots = std::max(schedule.slots, slots[i] + 1);
    schedule.ops.push_back(op);
    const bool in_call = asked.blocking || op.kind != Kind::waitall;
    if (in_call && schedule.in_call == i) ++schedule.in_call;
  }
  start_schedule(rank, schedules_.add(std::move(schedule)));
  if (last) ++rank.epoch;
  runtime_.clock.ready().put_first(asked.rank);
}

void Collectives::verify() const {
  schedules_.verify();
  for (const Rank& rank : runtime_.ranks.all()) {
    if (rank.schedule < 0) continue;
    ensure(schedules_.is_running(rank.schedule), "the schedule of a rank is in use");
    ensure(rank.step <= schedules_.size(rank.schedule),
           "the step of a rank is within its schedule");
    ensure(rank.slots.size() == static_cast<std::size_t>(schedules_.slots(rank.schedule)) ||
               (rank.slots.empty() && rank.step == schedules_.size(rank.schedule)),
           "a rank has as many slots as its schedule");
  }
}

}  // namespace tisim
