#include "io/storage/storage_servers.hpp"

#include <algorithm>
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
    std::vector<std::int64_t> parts(static_cast<std::size_t>(count));
    for_each_part(stripe, count, offset, bytes, [&](std::int32_t server, std::int64_t part) {
      CHECK(part > 0);
      CHECK(parts[static_cast<std::size_t>(server)] == 0);
      parts[static_cast<std::size_t>(server)] = part;
    });
    CHECK(parts == expected);
  }
}

namespace {

// A reference implementation that scans all writes at each step.
struct Reference {
  struct Write {
    std::int64_t left = 0;
    std::int32_t ticket = 0;
    bool accepted = false;
  };
  std::int64_t limit = 0;
  std::vector<Write> writes;
  std::vector<std::pair<std::size_t, std::int32_t>> flushes;

  std::vector<std::int32_t> collect() {
    std::vector<std::int32_t> tickets;
    std::int64_t before = 0;
    for (Write& write : writes) {
      before += write.left;
      if (write.accepted) continue;
      if (before > limit) break;
      write.accepted = true;
      tickets.push_back(write.ticket);
    }
    std::erase_if(flushes, [&](const auto& flush) {
      const auto end = writes.begin() + static_cast<std::ptrdiff_t>(flush.first);
      const bool over =
          std::all_of(writes.begin(), end, [](const Write& w) { return w.left == 0; });
      if (over) tickets.push_back(flush.second);
      return over;
    });
    return tickets;
  }
};

}  // namespace

TEST("write-behind: accepts and flushes what its definition says") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    const auto limit = static_cast<std::int64_t>(random() % 40);
    WriteBehind cache(limit);
    Reference reference{.limit = limit, .writes = {}, .flushes = {}};
    std::vector<std::int64_t> numbers;
    for (std::int32_t ticket = 0; ticket < 60; ++ticket) {
      const std::uint64_t what = random() % 8;
      if (what < 3) {
        const auto bytes = static_cast<std::int64_t>(1 + random() % 30);
        numbers.push_back(cache.begin(bytes, ticket));
        reference.writes.push_back({.left = bytes, .ticket = ticket});
      } else if (what == 3) {
        cache.flush(ticket);
        reference.flushes.emplace_back(reference.writes.size(), ticket);
      } else if (!numbers.empty()) {
        const std::size_t chosen = random() % numbers.size();
        std::int64_t& left = reference.writes[chosen].left;
        if (left == 0) continue;
        const std::int64_t part =
            1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(left));
        left -= part;
        cache.progress(numbers[chosen], part);
        if (left == 0) cache.end(numbers[chosen]);
      }
      Stack<std::int32_t> collected;
      cache.collect(collected);
      CHECK(std::vector<std::int32_t>(collected.begin(), collected.end()) == reference.collect());
    }
  }
}

}  // namespace tisim
