#include "simulation/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "support/invariant.hpp"

namespace tisim {

namespace {

// Limits the wall-clock time of a run; results do not depend on it. Reads the clock only at
// intervals.
class WallClockLimit {
 public:
  explicit WallClockLimit(double seconds) : limited_(seconds < kUnlimited) {
    if (!limited_) return;
    end_ = RealClock::now() + std::chrono::duration_cast<RealClock::duration>(Seconds(seconds));
  }
  bool is_over() { return (++checks_ % kChecks) == 0 && limited_ && RealClock::now() >= end_; }

 private:
  using RealClock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  static constexpr double kUnlimited = 1e6;  // seconds
  static constexpr unsigned kChecks = 16;    // checks per reading of the real clock
  bool limited_;
  unsigned checks_ = 0;
  RealClock::time_point end_;
};

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
      clock_(platform_->resources() + Cpu::probe_events(*platform_, model_.iprobe_cpu_usage),
             model_.precision_timing),
      cpu_(*platform_, model_.precision_timing, clock_.agenda(), model_.iprobe_cpu_usage),
      disks_(*platform_, model_.precision_timing, clock_.agenda()),
      network_(model_, *platform_),
      transfers_(clock_, network_),
      activities_(clock_, cpu_, disks_, *platform_, network_, transfers_),
      runtime_{model_, clock_, cpu_, disks_, ranks_, jobs_, log_, interruption_},
      mpi_(runtime_, *platform_, network_, transfers_),
      file_systems_(*platform_, clock_, network_, activities_),
      files_(runtime_, mpi_, *platform_, file_systems_, activities_),
      failures_(runtime_, transfers_, activities_, mpi_.matcher, files_),
      changes_(*platform_, clock_, cpu_, network_, transfers_, failures_),
      instant_(clock_, cpu_, disks_, network_, transfers_, changes_, mpi_.messages, mpi_.rounds),
      actions_(runtime_, mpi_),
      lifetime_(runtime_, mpi_, transfers_, failures_, actions_, completions_),
      interpreter_(runtime_, mpi_, lifetime_, files_, actions_, completions_) {}

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
    // The caller acts at this instant before the shares are recomputed.
    if (clock_.now() >= until) return Stop::time;
    instant_.settle();
    if (kVerifies) verify();
    if (limit.is_over()) return Stop::pause;
    const double date = instant_.next(until);
    if (date > until || (date == until && !including) || date == kNever)
      return stop_without_events(until);
    if (steady_) steady_->pass(date);
    instant_.advance_to(date);
  }
}

// Runs a woken rank or ends a woken activity. Returns false if the run stops.
bool Simulation::act(std::int32_t owner, Stop* stop) {
  if (owner < 0) {
    const bool failed = activities_.finish(~owner);
    if (gpus_ && gpus_->end(~owner)) return true;
    if (file_systems_.advance(~owner, failed) || files_.end_nonblocking(~owner, failed))
      return true;
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

// No events occur up to a date.
Stop Simulation::stop_without_events(double until) {
  if (until < kNever) {
    instant_.idle_until(until);
    return Stop::time;
  }
  return jobs_.follow_traces() ? Stop::deadlock : Stop::done;
}

void Simulation::skip_steady(double tolerance) {
  if (jobs_.count() > 0) throw std::logic_error("a job has been added before skip_steady");
  if (log_.is_open()) throw std::logic_error("a log is kept of what would be skipped");
  steady_ =
      std::make_unique<SteadyStates>(tolerance, StateSource{clock_, cpu_, network_, ranks_, mpi_});
  mpi_.source.observe_loops(steady_->loops());
}

// Records receives from any source in the requested schedule.
void Simulation::note_wildcard_receives(std::span<const std::int32_t> peers) {
  if (std::find(peers.begin(), peers.end(), kAnySource) == peers.end()) return;
  steady_->loops().note_any_source(question().rank, ranks_[question().rank].collective.line);
}

double Simulation::next_event() {
  if (!clock_.ready().empty() || !completions_.empty()) return clock_.now();
  instant_.settle();
  return std::max(instant_.next(kNever), clock_.now());
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
  if (steady_) steady_->loops().add_ranks(hosts.size());
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

// Puts a rank that was just woken before the others woken with it, as if its next operation came
// from a trace.
void Simulation::make_ready(std::int32_t index) {
  if (index == next_to_act_ || next_to_act_ == kAnyRank) {
    clock_.ready().put_first(index);
    next_to_act_ = kNoRank;
  } else {
    clock_.wake(index);
  }
}

// The receiving half goes where a trace would put it: next in the rank's buffer.
void Simulation::post_sendrecv(std::int32_t index, const Op& op, const Op& half) {
  ranks_[index].insert({&half, 1});
  post(index, op);
}

void Simulation::post_for_requests(std::int32_t index, const Op& op,
                                   std::span<const std::int32_t> requests) {
  OptionalRankState& state = ranks_[index].optional_state();
  state.listed.clear();
  for (const std::int32_t request : requests) state.listed.push_back(request);
  state.taken = -1;
  Op listed = op;
  listed.flags = kByNumber;
  post(index, listed);
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

bool Simulation::add_gpus(GraphPrograms programs,
                          std::vector<std::pair<std::int32_t, std::int32_t>> like, bool logs) {
  if (jobs_.count() > 0) throw std::logic_error("a job has been added before add_gpus");
  if (transfers_.may_fail() || ChangingLinks::any(*platform_) || steady_)
    throw std::invalid_argument("GPUs of a graph are on a platform that does not change or fail");
  for (const auto& [source, destination] : like) {
    if (network_.pair(source, destination) < 0) return false;
  }
  gpus_ = std::make_unique<Gpus>(std::move(programs), std::move(like), logs, runtime_, network_,
                                 activities_);
  return true;
}

void Simulation::launch(std::int32_t block, std::int32_t times) {
  if (stopped_by() != Stop::need_launch || !gpus_) throw std::logic_error("no block was asked for");
  interruption_.clear();
  gpus_->launch(question().rank, block, times);
}

void Simulation::provide_disk(std::int32_t disk) {
  if (stopped_by() != Stop::need_disk) throw std::logic_error("no disk was asked for");
  const auto place = static_cast<std::size_t>(disk);
  const bool is_disk = place < platform_->disk_host.size();
  if (is_disk && platform_->disk_host[place] != ranks_[question().rank].host) {
    throw std::invalid_argument("the disk is not on the host of the rank");
  }
  interruption_.clear();
  files_.answer(disk);
  clock_.ready().put_first(question().rank);
}

std::int32_t Simulation::access_file(std::int32_t file_system, std::string_view name,
                                     const FileRequest& request, std::int32_t client) {
  const std::int32_t activity = activities_.reserve();
  if (files_.access(file_system, name, request, client, ~activity)) return activity;
  activities_.finish(activity);
  return -1;
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
  const double now = clock_.now();  // skipped time has no date in the core
  clock_.verify();
  if (cpu_.is_settled()) cpu_.verify(now);
  if (disks_.is_settled()) disks_.verify(now);
  if (network_.is_solved()) network_.verify(now);
  transfers_.verify();
  activities_.verify();
  mpi_.verify();
  file_systems_.verify();
  files_.verify();
  failures_.verify();
  changes_.verify();
  if (gpus_) gpus_->verify();
}

}  // namespace tisim
