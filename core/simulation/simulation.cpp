#include "simulation/simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "simulation/wall_clock_limit.hpp"
#include "support/invariant.hpp"

namespace tisim {

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();

void clear_if_zero(OverheadTable& table) {
  if (table.is_zero()) table = OverheadTable{};
}

Model prepared(Model model) {
  for (Overheads& overheads : model.overheads) {
    clear_if_zero(overheads.send);
    clear_if_zero(overheads.isend);
    clear_if_zero(overheads.receive);
  }
  return model;
}
}  // namespace

Simulation::Simulation(Model model, std::shared_ptr<const PlatformData> platform)
    : model_(prepared(std::move(model))),
      platform_(std::move(platform)),
      clock_(platform_->host_speed.size(), model_.precision_timing),
      cpu_(*platform_, model_.precision_timing, clock_.agenda()),
      network_(model_, *platform_),
      transfers_(clock_, network_),
      activities_(clock_, cpu_, network_, transfers_),
      runtime_{model_, clock_, cpu_, ranks_, jobs_, log_, interruption_},
      mpi_(runtime_, *platform_, network_, transfers_),
      failures_(runtime_, transfers_, activities_, mpi_.matcher),
      changes_(*platform_, clock_, cpu_, network_, transfers_, failures_),
      instant_(clock_, cpu_, network_, transfers_, changes_, mpi_.messages),
      actions_(runtime_, mpi_),
      lifetime_(runtime_, mpi_, transfers_, failures_, actions_, completions_),
      interpreter_(runtime_, mpi_, lifetime_, actions_, completions_) {}

Stop Simulation::run(double until, double wall_clock_limit, bool including) {
  next_to_act_ = kNoRank;
  for (WallClockLimit limit(wall_clock_limit);;) {
    while (!clock_.ready().empty()) {
      if (limit.is_over()) return Stop::pause;
      Stop stop = Stop::done;
      if (!act(clock_.ready().take(), &stop)) return stop;
    }
    clock_.ready().clear();
    if (log_.is_full()) return Stop::event_log_full;
    // Whoever outside acts at this instant does so before the network is shared anew.
    if (now() >= until) return Stop::time;
    instant_.settle();
    if (kVerifies) verify();
    if (limit.is_over()) return Stop::pause;
    const double date = instant_.next(until);
    if (date > until || (date == until && !including) || date == kNever)
      return stop_without_events(until);
    instant_.advance_to(date);
  }
}

// A rank or activity that was woken acts. False: the run stops.
bool Simulation::act(std::int32_t owner, Stop* stop) {
  if (owner < 0) {
    const bool failed = activities_.finish(~owner);
    completions_.push_back(
        {failed ? CompletionType::failed_activity : CompletionType::activity, ~owner});
  } else if (!interpreter_.run(owner)) {
    *stop = interruption_.reason();
    if (*stop == Stop::need_action) next_to_act_ = owner;
    return false;
  }
  if (completions_.empty()) return true;
  next_to_act_ = completions_.back().type == CompletionType::rank ? owner : kAnyRank;
  *stop = Stop::completion;
  return false;
}

// Nothing happens any more up to a date.
Stop Simulation::stop_without_events(double until) {
  if (until < kNever) {
    instant_.idle_until(until);
    return Stop::time;
  }
  return jobs_.follow_traces() ? Stop::deadlock : Stop::done;
}

double Simulation::next_event() {
  if (!clock_.ready().empty() || !completions_.empty()) return now();
  instant_.settle();
  return std::max(instant_.next(kNever), now());
}

std::int32_t Simulation::add_job(std::shared_ptr<const TraceSet> traces,
                                 std::span<const std::int32_t> hosts,
                                 std::span<const double> starts) {
  const std::int32_t index = jobs_.count();
  Job& job = jobs_.add();
  job.first = ranks_.add(hosts.size());
  job.size = job.running = static_cast<std::int32_t>(hosts.size());
  job.world = mpi_.communicators.create();
  job.traces = std::move(traces);
  Communicator& world = mpi_.communicators[job.world];
  world.first = job.first;
  world.size = job.size;
  mpi_.matcher.add_destinations(hosts.size());
  if (log_.is_open()) log_.add_ranks(hosts.size(), now());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::int32_t number = static_cast<std::int32_t>(i);
    Rank& rank = ranks_[job.first + number];
    rank.host = hosts[i];
    rank.job = index;
    rank.first = job.first;
    rank.number = number;
    rank.context = world.context;
    rank.driven = job.traces == nullptr;
    rank.phase = rank.driven ? Phase::idle : Phase::between_operations;
    if (!rank.driven)
      lifetime_.schedule_start(job.first + number,
                               (starts.empty() ? 0.0 : starts[i]) + mpi_.jitter.start());
  }
  return index;
}

void Simulation::post(std::int32_t index, const Op& op) {
  Rank& rank = ranks_[index];
  if (is_dead(rank)) return;
  rank.op = op;
  rank.phase = Phase::posted;
  make_ready(index);
}

// A rank that was just woken goes on before the others that were woken with it, as it would if its
// next operation came from a trace.
void Simulation::make_ready(std::int32_t index) {
  if (index == next_to_act_ || next_to_act_ == kAnyRank) {
    clock_.ready().put_first(index);
    next_to_act_ = kNoRank;
  } else {
    clock_.wake(index);
  }
}

// The receiving half lies where a trace would have it: next in the rank's buffer.
void Simulation::post_sendrecv(std::int32_t index, const Op& op, const Op& half) {
  ranks_[index].insert({&half, 1});
  post(index, op);
}

void Simulation::post_collective(std::int32_t index, const Call& call) {
  Op op;
  op.kind = Kind::collective;
  op.call = jobs_.of(ranks_[index]).calls.intern(call);
  op.line = ranks_[index].op.line;
  post(index, op);
}

void Simulation::retry() {
  if (stopped_by() != Stop::need_route) throw std::logic_error("no route was asked for");
  interruption_.clear();
  clock_.ready().put_first(question().rank);
}

void Simulation::resume(std::int32_t index) {
  Rank& rank = ranks_[index];
  if (is_dead(rank)) return;
  rank.driven = false;
  rank.other += now() - rank.since;
  rank.phase = Phase::between_operations;
  make_ready(index);
}

#ifdef TISIM_VERIFY
void Simulation::draw_order(std::uint32_t seed) {
  clock_.ready().draw_order(seed);
  instant_.draw_order(seed);
  network_.draw_order(seed);
}
#endif

void Simulation::verify() const {
  clock_.verify();
  if (cpu_.is_settled()) cpu_.verify(now());
  if (network_.is_solved()) network_.verify(now());
  transfers_.verify();
  activities_.verify();
  mpi_.verify();
  failures_.verify();
  changes_.verify();
}

}  // namespace tisim
