#include "network/burst_links.hpp"

#include <algorithm>
#include <vector>

#include "core/network_testing.hpp"
#include "core/test.hpp"

namespace tisim {

namespace {

using test::FlowSystem;

bool ends_are(const std::vector<double>& ends, const std::vector<double>& expected) {
  return std::equal(ends.begin(), ends.end(), expected.begin(), expected.end(),
                    [](double a, double b) { return test::close(a, b, 1e-12); });
}

}  // namespace

TEST("bursts: a burst passes at once, and the rest at the bandwidth") {
  FlowSystem s;
  const std::int32_t link = s.link(100);
  s.set_burst(link, 300);
  const std::int32_t pair = s.pair({link});
  s.flow(pair, 200);        // 300 tokens: all of it at once
  s.flow(pair, 200);        // 100 tokens are left, the other 100 bytes take a second
  s.flow(pair, 500, 10.0);  // the bucket is full again: 200 bytes take two seconds
  CHECK(ends_are(s.run(), {0.0, 1.0, 12.0}));
}

TEST("bursts: a stream does not exceed the bandwidth, however its messages are cut") {
  FlowSystem s;
  const std::int32_t link = s.link(100);
  s.set_burst(link, 300);
  const std::int32_t pair = s.pair({link});
  for (int i = 0; i < 50; ++i) s.flow(pair, 40, 0.1 * i);  // 2,000 bytes in 5 seconds
  const std::vector<double> ends = s.run();
  CHECK(test::close(*std::max_element(ends.begin(), ends.end()), (2000.0 - 300.0) / 100.0, 1e-9));
}

TEST("bursts: a bucket refills while messages alternate") {
  FlowSystem s;
  const std::int32_t link = s.link(100);
  s.set_burst(link, 1000);
  const std::int32_t pair = s.pair({link});
  // As many bytes as the link carries between one and the next: they pass at once for ever.
  for (int i = 0; i < 100; ++i) s.flow(pair, 50, 0.5 * i);
  const std::vector<double> ends = s.run();
  for (std::size_t i = 0; i < ends.size(); ++i)
    CHECK(test::close(ends[i], 0.5 * static_cast<double>(i), 1e-9));
}

TEST("bursts: what one link passes at once waits for the others") {
  FlowSystem s;
  const std::int32_t quick = s.link(100);
  const std::int32_t plain = s.link(50);
  s.set_burst(quick, 1000);
  s.flow(s.pair({quick, plain}), 500);
  CHECK(ends_are(s.run(), {10.0}));
}

}  // namespace tisim
