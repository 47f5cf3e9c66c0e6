#include "simulation/platform_changes.hpp"

#include <algorithm>
#include <vector>

#include "support/invariant.hpp"

namespace tisim {

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
  cpu_.list_starving(starving);
  for (const std::int32_t host : starving) {
    if (changes_->rises(false, host, Quantity::speed)) return next_;
  }
  starving.clear();
  network_.list_starving(starving);
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
  ensure(!changes_ || next_ == changes_->next(), "the date of the next change is known");
  ensure(next_ >= clock_.now(), "no change is overdue");
}

}  // namespace tisim
