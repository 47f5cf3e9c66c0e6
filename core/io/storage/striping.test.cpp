#include "io/storage/striping.hpp"

#include <random>
#include <vector>

#include "core/test.hpp"

namespace tisim {

TEST("striping: parts of a file are those that its stripes give one by one") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto stripe = static_cast<std::int64_t>(1 + random() % 9);
    const auto count = static_cast<std::int32_t>(1 + random() % 6);
    const auto offset = static_cast<std::int64_t>(random() % 100);
    const auto bytes = static_cast<std::int64_t>(random() % 120);
    std::vector<std::int64_t> expected(static_cast<std::size_t>(count));
    for (std::int64_t byte = offset; byte < offset + bytes; ++byte) {
      ++expected[static_cast<std::size_t>(byte / stripe % count)];
    }
    std::vector<std::int64_t> found(static_cast<std::size_t>(count));
    for_each_part(stripe, count, offset, bytes, [&](std::int32_t server, std::int64_t part) {
      CHECK(part > 0);
      CHECK(found[static_cast<std::size_t>(server)] == 0);
      found[static_cast<std::size_t>(server)] = part;
    });
    CHECK(found == expected);
  }
}

}  // namespace tisim
