#include "network/burst_links.hpp"

#include <algorithm>
#include <cstddef>

#include "support/invariant.hpp"

namespace tisim {

namespace {

// A link on the forward route carries all of a flow; one on the reverse route, a twentieth.
bool is_on_the_way(const max_min::System& system, const max_min::Element& element) {
  return system.weight(element) >= 1.0;
}

}  // namespace

bool BurstLinks::any(const PlatformData& platform) {
  return std::any_of(platform.link_burst.begin(), platform.link_burst.end(),
                     [](double burst) { return burst > 0; });
}

BurstLinks::BurstLinks(const PlatformData& platform) : buckets_(platform.link_burst.size()) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    buckets_[i].burst = buckets_[i].tokens = platform.link_burst[i];
  }
}

double BurstLinks::pass(const max_min::System& system, std::span<const max_min::Element> elements,
                        double bytes, double now) {
  double at_once = elements.empty() ? 0.0 : bytes;
  for (const max_min::Element& element : elements) {
    if (!is_on_the_way(system, element)) continue;
    Bucket& bucket = buckets_[static_cast<std::size_t>(element.constraint)];
    const double refill = system.constraint(element.constraint).capacity * (now - bucket.updated);
    bucket.tokens = std::min(bucket.burst, bucket.tokens + refill);
    bucket.updated = now;
    at_once = std::min(at_once, std::max(bucket.tokens, 0.0));
    if (bucket.burst > 0) bucket.tokens -= bytes;
  }
  return at_once;
}

void BurstLinks::verify() const {
  for (const Bucket& bucket : buckets_) {
    ensure(bucket.tokens <= bucket.burst, "the tokens of a bucket do not exceed its burst");
  }
}

}  // namespace tisim
