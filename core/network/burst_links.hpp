// Links that pass some bytes at once: token buckets.
//
// A link of bandwidth B with a burst b passes, in any interval of t seconds, at most b + B t bytes
// (Cruz, "A calculus for network delay, part I", IEEE Trans. Inf. Theory 37, 1991). Its bucket
// holds at most b tokens, one a byte, and gets B of them a second. A message takes as many tokens
// as it has bytes. The bytes for which there are tokens pass at once; the rest moves at the share
// of its flow, as everywhere. The bucket is then in debt, and pays the debt back at B: when it is
// paid, the message has passed.
//
// A message passes no faster than every link on its way lets it: a link without a burst passes
// nothing at once.
#pragma once

#include <span>
#include <vector>

#include "platform/routes.hpp"
#include "solver/system.hpp"

namespace tisim {

class BurstLinks {
 public:
  // True if a platform has such links.
  static bool any(const PlatformData& platform);
  explicit BurstLinks(const PlatformData& platform);

  // A message of so many bytes takes its tokens of the links on its way, the `elements` of its pair
  // in `system`. How many of its bytes pass at once.
  double pass(const max_min::System& system, std::span<const max_min::Element> elements,
              double bytes, double now);

  // Throws BrokenInvariant where a bucket holds more than its link's burst.
  void verify() const;

 private:
  struct Bucket {
    double burst = 0.0;    // bytes
    double tokens = 0.0;   // bytes; negative: the debt of messages under way
    double updated = 0.0;  // seconds
  };

  std::vector<Bucket> buckets_;  // of each link
};

}  // namespace tisim
