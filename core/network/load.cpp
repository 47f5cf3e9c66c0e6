#include "network/load.hpp"

#include <algorithm>

#include "network/network.hpp"

namespace tisim {

void LinkLoad::widen() {
  width_ *= 2;
  for (std::vector<double>& load : loads_) {
    if (load.empty()) continue;
    for (std::size_t i = 0; i < bins_; ++i) {
      const double merged = 2 * i + 1 < bins_ ? load[2 * i] + load[2 * i + 1] : 0.0;
      load[i] = merged;
    }
  }
}

void Network::record_load(std::size_t bins) {
  load_ = std::make_unique<LinkLoad>(links_.size(), bins);
}

// What the flows of a pair have moved since some time. Most often they have moved it
// within one bin, and the links need not be looked at.
void Network::charge(std::size_t index, double value, double since, double now) {
  const Pair& pair = pairs_[index];
  if (now <= since || pair.count == 0 || value <= 0) return;
  const double rate = value * pair.count;
  LinkLoad::Pending& pending = load_->pending(index);
  if (now <= pending.end && since >= pending.middle - (pending.end - pending.middle)) {
    pending.bytes += rate * (now - since);
    return;
  }
  unload(index);
  for (double from = since; from < now;) {
    const double width = load_->width();
    const std::size_t bin = load_->bin_of(from);
    const double begin = static_cast<double>(bin) * load_->width();
    if (load_->width() != width) continue;
    const double end = std::max(begin + width, from);
    const double to = end > from ? std::min(end, now) : now;
    pending = {rate * (to - from), begin + width / 2, end};
    from = to;
    if (from < now) unload(index);
  }
}

void Network::unload(std::size_t index) {
  LinkLoad::Pending& pending = load_->pending(index);
  if (pending.bytes <= 0) return;
  const Pair& pair = pairs_[index];
  const std::size_t bin = load_->bin_of(pending.middle);
  for (const Element& element : way(pair)) {
    load_->add(index_of(element.link), bin, weight(element) * pending.bytes);
  }
  pending.bytes = 0.0;
}

const LinkLoad& Network::load() {
  for (std::size_t i = 0; i < std::min(load_->pairs(), pairs_.size()); ++i) unload(i);
  return *load_;
}

}  // namespace tisim
