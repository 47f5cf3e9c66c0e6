// Links that pass some bytes at once: token buckets.
//
// A link of bandwidth B with a burst b passes, in any interval of t seconds, at most b + B t bytes
// (Cruz, "A calculus for network delay, part I", IEEE Trans. Inf. Theory 37, 1991). Its bucket
// contains at most b tokens, one per byte, and is refilled at rate B. A message takes as many
// tokens as it has bytes. The bytes covered by tokens pass at once; the rest moves at the share of
// its flow, as on any link. The bucket is then in debt and repays at rate B: the debt is repaid
// when the message has passed.
//
// A message passes no faster than every link on its route permits: a link without a burst passes
// nothing at once.
#pragma once

#include <span>
#include <vector>

#include "platform/routes.hpp"
#include "solver/system.hpp"

namespace tisim {

class BurstLinks {
 public:
  // Returns true if a platform has such links.
  static bool any(const PlatformData& platform);
  explicit BurstLinks(const PlatformData& platform);

  // Takes the tokens of a message from the links on its route, the `elements` of its pair in
  // `system`. Returns the number of bytes that pass at once.
  double pass(const max_min::System& system, std::span<const max_min::Element> elements,
              double bytes, double now);

  // Checks that no bucket exceeds its link's burst. Throws BrokenInvariant.
  void verify() const;

 private:
  struct Bucket {
    double burst = 0.0;    // bytes
    double tokens = 0.0;   // bytes; negative: the debt of messages in flight
    double updated = 0.0;  // seconds
  };

  std::vector<Bucket> buckets_;  // by link
};

}  // namespace tisim
