// The clock: from instant to instant.

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "simulation/simulation.hpp"

namespace tisim {

namespace {
void forget_if_zero(OverheadTable& table) {
  if (table.is_zero()) table = OverheadTable{};
}

// How much longer a run may take. It reads the real clock now and then only; when a run pauses has
// no influence on what it does.
class Patience {
 public:
  explicit Patience(double seconds) : limited_(seconds < kLimit) {
    if (limited_)
      end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  }
  bool is_over() { return (++questions_ % kGlance) == 0 && limited_ && Clock::now() >= end_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  static constexpr double kLimit = 1e6;
  static constexpr unsigned kGlance = 16;
  bool limited_;
  unsigned questions_ = 0;
  Clock::time_point end_;
};
}  // namespace

Simulation::Simulation(Model model, std::shared_ptr<const PlatformData> platform)
    : model_(std::move(model)),
      shared_platform_(std::move(platform)),
      platform_(*shared_platform_),
      agenda_(platform_.host_speed.size()),
      cpu_(platform_, model_.precision_timing, agenda_),
      network_(model_, platform_),
      schedules_(model_.kept_operations) {
  for (Overheads& overheads : model_.overheads) {
    forget_if_zero(overheads.send);
    forget_if_zero(overheads.isend);
    forget_if_zero(overheads.receive);
  }
  prepare_changes();
}

Stop Simulation::run(double until, double patience, bool including) {
  going_on_ = kNobodyGoesOn;
  for (Patience rest(patience);;) {
    while (next_ready_ < ready_.size()) {
      if (rest.is_over()) return Stop::pause;
      const std::int32_t owner = ready_[next_ready_++];
      if (owner < 0) {
        woken_.push_back({outcome(~owner), ~owner});
        activities_.release(~owner);
      } else if (!run_rank(owner)) {
        if (stop_ == Stop::need_action) going_on_ = owner;
        return stop_;
      }
      if (woken_.empty()) continue;
      going_on_ = woken_.back().type == WokenType::rank ? owner : kWhoever;
      return Stop::wake;
    }
    ready_.clear();
    next_ready_ = 0;
    if (recorder_ && recorder_->full()) return Stop::records;
    // Whoever outside acts at this instant does so before the network is shared anew.
    if (now_ >= until) return Stop::time;
    settle();
    if (rest.is_over()) return Stop::pause;
    Stop stop = Stop::done;
    if (!advance(until, including, &stop)) return stop;
  }
}

// Dates what the changes of this instant have moved. Sleeps that end together end in the reverse
// order of their beginning if they began together, and before computations that did so too: so
// does SimGrid (cpu_cas01.cpp and Model::next_occurring_event_lazy).
void Simulation::settle() {
  if (!sleeps_.empty()) fall_asleep();
  if (!cpu_.is_settled()) cpu_.settle(now_);
  if (!network_.is_solved()) network_.solve(now_);
}

void Simulation::fall_asleep() {
  for (auto sleep = sleeps_.rbegin(); sleep != sleeps_.rend(); ++sleep) {
    agenda_.push(sleep->first, EventType::wake_rank, sleep->second);
  }
  sleeps_.clear();
}

double Simulation::next_event() {
  if (next_ready_ < ready_.size() || !woken_.empty()) return now_;
  settle();
  double date = next_end();
  if (changes_) date = before_change(date, std::numeric_limits<double>::infinity());
  return std::max(date, now_);
}

// When something under way ends.
double Simulation::next_end() {
  double date = std::numeric_limits<double>::infinity();
  if (!agenda_.empty()) date = agenda_.next();
  if (!network_.idle()) date = std::min(date, network_.next_end());
  return date;
}

// Moves the clock to the next instant at which something ends, and wakes whoever waits for that.
bool Simulation::advance(double until, bool including, Stop* stop) {
  double date = next_end();
  if (changes_) date = before_change(date, until);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (date > until || (date == until && !including) || date == kNever) {
    if (until < kNever) {
      now_ = std::max(now_, until);
      if (next_change_ <= now_) apply_changes();  // of this very instant
      *stop = Stop::time;
      return false;
    }
    const bool running = std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) {
      return job.traces != nullptr && job.running > 0;
    });
    *stop = running ? Stop::deadlock : Stop::done;
    return false;
  }
  now_ = std::max(now_, date);
  if (next_change_ <= now_) apply_changes();
  owners_.clear();
  // Ends of computations and sleeps that are closer than the precision happen together; so do
  // latencies. Ends of transfers do not.
  while (!agenda_.empty() && agenda_.next() - now_ < model_.precision_timing) {
    const std::uint32_t id = agenda_.top();
    agenda_.pop();
    const std::int32_t index = Agenda::index(id);
    switch (Agenda::type(id)) {
      case EventType::wake_rank:
        owners_.push_back(index);
        break;
      case EventType::wake_activity:
        owners_.push_back(~index);
        break;
      case EventType::cpu:
        cpu_.collect_ended(index, now_, owners_);
        break;
      case EventType::latency:
        if (!faults_ || !network_.discard(index)) network_.activate(index, now_);
        break;
    }
  }
  for (const std::int32_t owner : owners_) wake(owner);
  owners_.clear();
  network_.collect_ended(now_, owners_);
  for (const std::int32_t owner : owners_) {
    if (faults_) faults_->flying.erase(owner);
    if (owner >= 0) {
      complete(owner);
    } else {
      wake(owner);
    }
  }
  return true;
}

void Simulation::record(std::size_t room) {
  recorder_ = std::make_unique<Recorder>(room);
  recorder_->add_ranks(ranks_.size(), now_);
}

void Simulation::start_flow(std::int32_t pair, double bytes, std::int32_t owner) {
  if (faults_ && is_obstructed(pair, owner)) return;
  if (recorder_ && owner >= 0) recorder_->start(owner, now_);
  double latency = 0.0;
  const std::int32_t flow = network_.start(pair, bytes, owner, now_, &latency);
  if (faults_) faults_->flying[owner].flow = flow;
  if (latency > 0) agenda_.push(now_ + latency, EventType::latency, flow);
}

void Simulation::sleep(std::int32_t index, double seconds, Phase phase) {
  ranks_[at(index)].phase = phase;
  sleeps_.emplace_back(now_ + std::max(seconds, model_.precision_timing), index);
}

void Simulation::compute(std::int32_t index, double flops, Phase phase) {
  Rank& rank = ranks_[at(index)];
  rank.phase = phase;
  cpu_.start(rank.host, flops, index, now_);
}

std::int32_t Simulation::execute(std::int32_t host, double flops) {
  const std::int32_t activity = activities_.acquire();
  if (faults_ && faults_->host_off[at(host)]) {
    fail(activity);
  } else {
    cpu_.start(host, flops, ~activity, now_);
  }
  return activity;
}

std::int32_t Simulation::transfer(std::int32_t source, std::int32_t destination, double bytes) {
  const std::int32_t pair = network_.pair(source, destination);
  if (pair < 0) return -1;
  const std::int32_t activity = activities_.acquire();
  if (faults_ && (faults_->host_off[at(source)] || faults_->host_off[at(destination)])) {
    fail(activity);
    return activity;
  }
  start_flow(pair, bytes, ~activity);
  if (faults_) note_hosts(~activity, source, destination);
  return activity;
}

std::vector<Woken> Simulation::take_woken() { return std::exchange(woken_, {}); }

std::int32_t Simulation::add_job(std::shared_ptr<const TraceSet> traces,
                                 std::span<const std::int32_t> hosts,
                                 std::span<const double> starts) {
  const auto index = static_cast<std::int32_t>(jobs_.size());
  Job& job = jobs_.emplace_back();
  job.first = static_cast<std::int32_t>(ranks_.size());
  job.size = job.running = static_cast<std::int32_t>(hosts.size());
  job.world = new_communicator();
  job.traces = std::move(traces);
  Communicator& world = communicators_[at(job.world)];
  world.first = job.first;
  world.size = job.size;
  matcher_.add_destinations(hosts.size());
  if (recorder_) recorder_->add_ranks(hosts.size(), now_);
  ranks_.resize(ranks_.size() + hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    Rank& rank = ranks_[at(job.first) + i];
    rank.host = hosts[i];
    rank.job = index;
    rank.first = job.first;
    rank.number = static_cast<std::int32_t>(i);
    rank.context = world.context;
    rank.driven = job.traces == nullptr;
    rank.phase = rank.driven ? Phase::idle : Phase::next;
    if (!rank.driven) start_rank(job.first + rank.number, starts.empty() ? 0.0 : starts[i]);
  }
  return index;
}

// A rank starts after `delay`, in seconds.
void Simulation::start_rank(std::int32_t index, double delay) {
  Rank& rank = ranks_[at(index)];
  rank.phase = Phase::unborn;
  if (delay > 0) {
    agenda_.push(now_ + delay, EventType::wake_rank, index);
  } else if (faults_ || enter_init(rank, index)) {
    wake(index);
  }
}

// What smpi/init says that the start of a rank takes. True: nothing, it begins with its trace.
bool Simulation::enter_init(Rank& rank, std::int32_t index) {
  rank.phase = Phase::next;
  if (model_.init_sleep <= 0) return true;
  rank.since = now_;
  rank.phase = Phase::starting;
  agenda_.push(now_ + model_.init_sleep, EventType::wake_rank, index);
  return false;
}

void Simulation::post(std::int32_t index, const Op& op) {
  Rank& rank = ranks_[at(index)];
  if (is_dead(rank)) return;
  rank.op = op;
  rank.phase = Phase::posted;
  go_on(index);
}

// A rank that was just woken goes on before the others that were woken with it, as it would if its
// next operation came from a trace.
void Simulation::go_on(std::int32_t index) {
  if (index == going_on_ || going_on_ == kWhoever) {
    wake_first(index);
    going_on_ = kNobodyGoesOn;
  } else {
    wake(index);
  }
}

// The receiving half lies where a trace would have it: next in the rank's buffer.
void Simulation::post_sendrecv(std::int32_t index, const Op& op, const Op& half) {
  Rank& rank = ranks_[at(index)];
  if (rank.cursor == 0) {
    rank.buffer.resize(1, Op{});
    rank.cursor = 1;
  }
  rank.buffer[--rank.cursor] = half;
  post(index, op);
}

void Simulation::post_collective(std::int32_t index, const Call& call) {
  Op op;
  op.kind = Kind::collective;
  op.call = jobs_[at(ranks_[at(index)].job)].calls.intern(call);
  op.line = ranks_[at(index)].op.line;
  post(index, op);
}

void Simulation::retry() {
  if (stop_ != Stop::need_route) throw std::logic_error("no route was asked for");
  stop_ = Stop::done;
  wake_first(need_.rank);
}

void Simulation::resume(std::int32_t index) {
  Rank& rank = ranks_[at(index)];
  if (is_dead(rank)) return;
  rank.driven = false;
  rank.other += now_ - rank.since;
  rank.phase = Phase::next;
  go_on(index);
}

std::uint64_t Simulation::trace_bytes() {
  std::uint64_t sum = 0;
  for (Job& job : jobs_) {
    if (job.traces && job.bytes == 0) job.bytes = job.traces->bytes();
    sum += job.bytes;
  }
  return sum;
}

std::string Simulation::file_of(const Rank& rank) const {
  if (!rank.reader && !rank.read_out) return {};
  return jobs_[at(rank.job)].traces->file(rank.number);
}

}  // namespace tisim
