#include "simulation/platform_changes.hpp"

#include <algorithm>
#include <vector>

#include "support/invariant.hpp"

namespace tisim {

void Failures::turn_link(std::int32_t link, bool on) {
  transfers_.turn_link(link, on);
  if (on) return;
  lose(transfers_.over_link(link), {Loss::Cause::link, link, runtime_.clock.now()});
}

void Failures::turn_host(std::int32_t host, bool on) {
  if (transfers_.is_host_off(host) == !on) return;
  transfers_.turn_host(host, on);
  if (on) return;
  const double now = runtime_.clock.now();
  for (std::size_t i = 0; i < runtime_.ranks.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const Rank& rank = runtime_.ranks[index];
    if (rank.host == host && rank.phase != Phase::not_started) kill(index, host);
  }
  std::vector<std::int32_t> owners;
  runtime_.cpu.list_owners(host, owners);
  std::sort(owners.begin(), owners.end());
  for (const std::int32_t owner : owners) {
    runtime_.cpu.drop(host, owner, now);
    activities_.fail(~owner);
  }
  activities_.turn_disks_off(host);
  lose(transfers_.at_host(host), {Loss::Cause::host, host, now});
}

void Failures::kill(std::int32_t index, std::int32_t host) {
  Rank& rank = runtime_.ranks[index];
  const double now = runtime_.clock.now();
  if (rank.phase == Phase::finished || is_dead(rank)) return;
  if (runtime_.log.is_open()) {
    runtime_.log.continue_rank(index, static_cast<std::uint8_t>(rank.phase), now);
    runtime_.log.stop_rank(index, now);
  }
  if (rank.phase == Phase::computing) rank.compute += now - rank.since;
  runtime_.cpu.drop(rank.host, index, now);
  files_.abandon(index);
  rank.phase = Phase::dying;
  rank.finish = now;
  deaths_.push_back({index, now, host});
  std::vector<std::int32_t> owners = transfers_.of_messages();
  std::erase_if(owners, [&](std::int32_t owner) {
    const Message& message = matcher_.message(transfers_.message_of(owner));
    return message.source != index && message.destination != index;
  });
  lose(owners, {Loss::Cause::rank, index, now});
  runtime_.clock.wake(index);
}

void Failures::lose(const std::vector<std::int32_t>& owners, const Loss& loss) {
  for (const std::int32_t owner : owners) {
    const std::int32_t message = owner < 0 ? -1 : transfers_.message_of(owner);
    transfers_.stop(owner);
    if (owner < 0) {
      activities_.fail(~owner);
    } else {
      transfers_.note_loss(message, loss);
    }
  }
}

void Failures::verify() const {
  for (const Death& death : deaths_) {
    ensure(is_dead(runtime_.ranks[death.rank]), "a killed rank stays dead");
    ensure(death.date <= runtime_.clock.now(), "no rank dies in the future");
  }
}

PlatformChanges::PlatformChanges(const PlatformData& platform, Clock& clock, Cpu& cpu,
                                 Network& network, Transfers& transfers, Failures& failures)
    : platform_(platform),
      clock_(clock),
      cpu_(cpu),
      network_(network),
      transfers_(transfers),
      failures_(failures) {
  if (platform_.profiles.empty()) return;
  for (const ResourceProfile& profile : platform_.profiles) {
    if (profile.what == Quantity::state) expect_failures();
  }
  changes_ = std::make_unique<Changes>(platform_.profiles);
  apply_due();
}

void PlatformChanges::expect_failures() {
  transfers_.expect_failures(platform_.host_speed.size(), platform_.link_bandwidth.size());
}

void PlatformChanges::kill_at(std::int32_t rank, double date) {
  expect_failures();
  if (!changes_) changes_ = std::make_unique<Changes>(platform_.profiles);
  changes_->kill(rank, std::max(date, clock_.now()));
  next_ = changes_->next();
}

double PlatformChanges::date_before(double date, double until) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (date < kNever || until < kNever || changes_->kills()) return std::min(date, next_);
  std::vector<std::int32_t> starving;
  cpu_.list_starved(starving);
  for (const std::int32_t host : starving) {
    if (changes_->rises(false, host, Quantity::speed)) return next_;
  }
  starving.clear();
  network_.list_starved(starving);
  for (const std::int32_t link : starving) {
    if (changes_->rises(true, link, Quantity::bandwidth)) return next_;
  }
  return date;
}

void PlatformChanges::apply_due() {
  while (changes_->next() <= clock_.now()) {
    const Change change = changes_->pop();
    switch (change.what) {
      case Quantity::speed:
        cpu_.set_fraction(change.index, change.value, clock_.now());
        break;
      case Quantity::bandwidth:
        network_.set_bandwidth(change.index, change.value);
        break;
      case Quantity::latency:
        network_.set_latency(change.index, change.value);
        break;
      case Quantity::state:
        if (change.is_link) {
          failures_.turn_link(change.index, change.value > 0);
        } else {
          failures_.turn_host(change.index, change.value > 0);
        }
        break;
      case Quantity::life:
        failures_.kill(change.index, -1);
        break;
    }
  }
  next_ = changes_->next();
}

void PlatformChanges::verify() const {
  ensure(!changes_ || next_ == changes_->next(), "the cached date of the next change is right");
  ensure(next_ >= clock_.now(), "no change is overdue");
}

}  // namespace tisim
