#include "network/load.hpp"

#include <algorithm>

namespace tisim {

void LoadRecorder::charge(std::int32_t pair, double share, double since, double now) {
  const std::int32_t count = system_.variable(pair).count;
  if (now <= since || count == 0 || share <= 0) return;
  const double rate = share * count;
  Pending& pending = this->pending(pair);
  if (now <= pending.end && since >= pending.middle - (pending.end - pending.middle)) {
    pending.bytes += rate * (now - since);
    return;
  }
  add_to_links(pair);
  for (double from = since; from < now;) {
    const double width = load_.width();
    const std::size_t bin = load_.bin_of(from);
    const double begin = static_cast<double>(bin) * load_.width();
    if (load_.width() != width) continue;
    const double end = std::max(begin + width, from);
    const double to = end > from ? std::min(end, now) : now;
    pending = {rate * (to - from), begin + width / 2, end};
    from = to;
    if (from < now) add_to_links(pair);
  }
}

void LoadRecorder::add_to_links(std::int32_t pair) {
  Pending& pending = this->pending(pair);
  if (pending.bytes <= 0) return;
  const std::size_t bin = load_.bin_of(pending.middle);
  for (const max_min::Element& element : system_.elements(system_.variable(pair))) {
    load_.add(static_cast<std::size_t>(element.constraint), bin,
              system_.weight(element) * pending.bytes);
  }
  pending.bytes = 0.0;
}

const TimeBins& LoadRecorder::load() {
  const std::size_t count = std::min(pending_.size(), system_.variables());
  for (std::size_t i = 0; i < count; ++i) add_to_links(static_cast<std::int32_t>(i));
  return load_;
}

}  // namespace tisim
