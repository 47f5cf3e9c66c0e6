// What happens when something changes or fails (ADR 15). A rank dies with its host. What is being
// transferred over a link that goes off, or to or from a rank that dies, is lost: whoever waits for
// it waits for ever, and the report of the deadlock says why.

#include <algorithm>
#include <limits>
#include <optional>

#include "simulation/simulation.hpp"

namespace tisim {

void Simulation::prepare_changes() {
  if (platform_.profiles.empty()) return;
  for (const ResourceProfile& profile : platform_.profiles) {
    if (profile.what == Quantity::state) expect_faults();
  }
  changes_ = std::make_unique<Changes>(platform_.profiles);
  apply_changes();
}

void Simulation::expect_faults() {
  if (faults_) return;
  faults_ = std::make_unique<Faults>();
  faults_->host_off.resize(platform_.host_speed.size());
  faults_->link_off.resize(platform_.link_bandwidth.size());
}

void Simulation::kill_at(std::int32_t rank, double date) {
  expect_faults();
  if (!changes_) changes_ = std::make_unique<Changes>(platform_.profiles);
  changes_->kill(rank, std::max(date, now_));
  next_change_ = changes_->next();
}

// When something happens that moves the clock: at `date`, or earlier, when something changes.
// Changes alone do not keep a simulation going, but those that help somebody who waits without any
// speed or bandwidth do.
double Simulation::before_change(double date, double until) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (date < kNever || until < kNever || changes_->kills()) return std::min(date, next_change_);
  std::vector<std::int32_t> starving;
  cpu_.list_starving(starving);
  for (const std::int32_t host : starving) {
    if (changes_->rises(false, host, Quantity::speed)) return next_change_;
  }
  starving.clear();
  network_.list_starving(starving);
  for (const std::int32_t link : starving) {
    if (changes_->rises(true, link, Quantity::bandwidth)) return next_change_;
  }
  return date;
}

void Simulation::apply_changes() {
  while (changes_->next() <= now_) {
    const Change change = changes_->pop();
    switch (change.what) {
      case Quantity::speed:
        cpu_.set_fraction(change.index, change.value, now_);
        break;
      case Quantity::bandwidth:
        network_.set_bandwidth(change.index, change.value);
        break;
      case Quantity::latency:
        network_.set_latency(change.index, change.value);
        break;
      case Quantity::state:
        if (change.is_link) {
          turn_link(change.index, change.value > 0);
        } else {
          turn_host(change.index, change.value > 0);
        }
        break;
      case Quantity::life:
        kill(change.index, -1);
        break;
    }
  }
  next_change_ = changes_->next();
}

void Simulation::turn_link(std::int32_t link, bool on) {
  faults_->link_off[at(link)] = !on;
  if (on) return;
  std::vector<std::int32_t> owners;
  for (const auto& [owner, flight] : faults_->flying) {
    if (network_.leads_over(network_.pair_of(flight.flow), link)) owners.push_back(owner);
  }
  std::sort(owners.begin(), owners.end());
  for (const std::int32_t owner : owners) lose(owner, {Loss::Cause::link, link, now_});
}

void Simulation::turn_host(std::int32_t host, bool on) {
  if (faults_->host_off[at(host)] == !on) return;
  faults_->host_off[at(host)] = !on;
  if (on) return;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].host != host || ranks_[i].phase == Phase::unborn) continue;
    kill(static_cast<std::int32_t>(i), host);
  }
  std::vector<std::int32_t> owners;
  cpu_.list_owners(host, owners);
  std::sort(owners.begin(), owners.end());
  for (const std::int32_t owner : owners) {
    cpu_.drop(host, owner, now_);
    fail(~owner);
  }
  owners.clear();
  for (const auto& [owner, flight] : faults_->flying) {
    if (flight.source == host || flight.destination == host) owners.push_back(owner);
  }
  std::sort(owners.begin(), owners.end());
  for (const std::int32_t owner : owners) lose(owner, {Loss::Cause::host, host, now_});
}

// `host`: what it dies with, -1: nothing else.
void Simulation::kill(std::int32_t index, std::int32_t host) {
  Rank& rank = ranks_[at(index)];
  if (rank.phase == Phase::finished || is_dead(rank)) return;
  if (recorder_) {
    recorder_->unblock(index, rank.phase, now_);
    recorder_->block(index, now_);
  }
  if (rank.phase == Phase::computing) rank.compute += now_ - rank.since;
  cpu_.drop(rank.host, index, now_);
  rank.phase = Phase::killed;
  rank.finish = now_;
  faults_->deaths.push_back({index, now_, host});
  std::vector<std::int32_t> owners;
  for (const auto& [owner, flight] : faults_->flying) {
    if (owner < 0) continue;
    const Message& message = matcher_.message(owner);
    if (message.source == index || message.destination == index) owners.push_back(owner);
  }
  std::sort(owners.begin(), owners.end());
  for (const std::int32_t owner : owners) lose(owner, {Loss::Cause::rank, index, now_});
  wake(index);
}

// A transfer under way never arrives.
void Simulation::lose(std::int32_t owner, const Loss& loss) {
  const auto found = faults_->flying.find(owner);
  network_.drop(found->second.flow, now_);
  faults_->flying.erase(found);
  if (owner < 0) {
    fail(~owner);
  } else {
    faults_->lost[owner] = loss;
  }
}

void Simulation::fail(std::int32_t activity) {
  faults_->failed.resize(std::max(faults_->failed.size(), at(activity) + 1));
  faults_->failed[at(activity)] = true;
  wake(~activity);
}

// The hosts of a transfer that is no message, if it has started.
void Simulation::note_hosts(std::int32_t owner, std::int32_t source, std::int32_t destination) {
  const auto found = faults_->flying.find(owner);
  if (found == faults_->flying.end()) return;
  found->second.source = source;
  found->second.destination = destination;
}

// Whether an activity that is over has failed.
WokenType Simulation::outcome(std::int32_t activity) {
  if (!faults_ || at(activity) >= faults_->failed.size() || !faults_->failed[at(activity)]) {
    return WokenType::activity;
  }
  faults_->failed[at(activity)] = false;
  return WokenType::failure;
}

// Why a transfer cannot even start.
std::optional<Loss> Simulation::obstacle(std::int32_t pair, std::int32_t owner) const {
  const std::int32_t link = network_.find_on_way(pair, faults_->link_off);
  if (link >= 0) return Loss{Loss::Cause::link, link, now_};
  if (owner < 0) return std::nullopt;
  const Message& message = matcher_.message(owner);
  for (const std::int32_t rank : {message.source, message.destination}) {
    if (is_dead(ranks_[at(rank)])) return Loss{Loss::Cause::rank, rank, now_};
  }
  return std::nullopt;
}

// True: nothing will be transferred.
bool Simulation::is_obstructed(std::int32_t pair, std::int32_t owner) {
  const std::optional<Loss> loss = obstacle(pair, owner);
  if (!loss) return false;
  if (owner < 0) {
    fail(~owner);
  } else {
    faults_->lost[owner] = *loss;
  }
  return true;
}

// The start of a rank; on a host that is off there is none.
bool Simulation::be_born(Rank& rank, std::int32_t index) {
  if (!faults_ || !faults_->host_off[at(rank.host)]) return enter_init(rank, index);
  kill(index, rank.host);
  return false;
}

// The end of a rank that was killed.
bool Simulation::bury(Rank& rank, std::int32_t index) {
  if (recorder_) record_action(index, Op{}, 0);
  rank.phase = Phase::dead;
  rank.let_go_of_trace();
  Job& job = jobs_[at(rank.job)];
  if (--job.running == 0) woken_.push_back({WokenType::job, rank.job});
  return false;
}

}  // namespace tisim
