#include "support/number_index.hpp"

#include <random>
#include <unordered_map>
#include <vector>

#include "core/test.hpp"

namespace tisim {

namespace {

// Objects whose keys are all that there is to them.
struct Keyed {
  explicit Keyed(std::uint64_t (*hash_)(std::uint64_t)) : hash(hash_) {}

  std::int32_t find(std::uint64_t key) const {
    return index.find(hash(key), [&](std::int32_t number) {
      return keys[static_cast<std::size_t>(number)] == key;
    });
  }
  std::int32_t add(std::uint64_t key) {
    const auto number = static_cast<std::int32_t>(keys.size());
    keys.push_back(key);
    index.insert(number, [&](std::int32_t n) { return hash(keys[static_cast<std::size_t>(n)]); });
    return number;
  }
  void erase(std::uint64_t key) {
    index.erase(find(key), [&](std::int32_t n) { return hash(keys[static_cast<std::size_t>(n)]); });
  }

  std::uint64_t (*hash)(std::uint64_t);
  std::vector<std::uint64_t> keys;
  NumberIndex index;
};

}  // namespace

TEST("number index: objects that have new numbers are found by them") {
  Keyed keyed(&hash_of);
  for (std::uint64_t key = 0; key < 1000; ++key) keyed.add(key);
  std::erase_if(keyed.keys, [](std::uint64_t key) { return key % 5 > 0; });
  keyed.index.renumber(keyed.keys.size(), [&](std::int32_t number) {
    return hash_of(keyed.keys[static_cast<std::size_t>(number)]);
  });
  CHECK(keyed.index.size() == 200);
  for (std::uint64_t key = 0; key < 1000; ++key) {
    CHECK(keyed.find(key) == (key % 5 > 0 ? -1 : static_cast<std::int32_t>(key / 5)));
  }
  for (std::uint64_t key = 1000; key < 3000; ++key) keyed.add(key);
  for (std::uint64_t key = 1000; key < 3000; ++key) {
    CHECK(keyed.find(key) == static_cast<std::int32_t>(key - 800));
  }
}

TEST("number index: what was taken out is gone, and all others are found") {
  std::mt19937_64 random(5);
  // The second hash leaves few places to begin at, the last ones among them.
  for (const auto hash : {&hash_of, +[](std::uint64_t key) { return ~(key % 7); }}) {
    Keyed keyed(hash);
    std::vector<bool> there(300, false);
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t key = random() % there.size();
      CHECK((keyed.find(key) >= 0) == there[key]);
      if (there[key]) {
        keyed.erase(key);
      } else {
        keyed.add(key);
      }
      there[key] = !there[key];
    }
    for (std::uint64_t key = 0; key < there.size(); ++key) {
      CHECK((keyed.find(key) >= 0) == there[key]);
    }
  }
}

}  // namespace tisim
