// Vectors of ranks come back, and regular ones take a few bytes.
#include "trace/tit/vector/rank_vector.hpp"

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/test.hpp"

namespace tisim::tit {

namespace {

using PerRank = std::vector<std::int64_t>;
using Ranks = std::vector<std::int32_t>;

Ranks first_ranks(std::size_t count) {
  Ranks ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

bool gives(const RankVector& vector, const PerRank& values, const Ranks& ranks) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (vector.at(i, ranks[i]) != values[i]) return false;
  }
  if (ranks == first_ranks(ranks.size())) {
    PerRank one_by_one;
    vector.for_each(static_cast<std::uint32_t>(ranks.size()),
                    [&](std::uint32_t rank, std::int64_t value) {
                      if (rank == one_by_one.size()) one_by_one.push_back(value);
                    });
    if (one_by_one != values) return false;
  }
  return vector.all(ranks) == values;
}

// Writes and reads it; returns the number of bytes.
std::size_t coded_size(const PerRank& values, const Ranks& ranks, bool are_ranks) {
  const RankVector vector = RankVector::of(values, ranks, are_ranks);
  CHECK(gives(vector, values, ranks));
  Bytes bytes;
  vector.write(bytes);
  ByteReader in(bytes.data);
  const RankVector back = RankVector::read(in, values.size());
  CHECK(in.at_end() && gives(back, values, ranks));
  Bytes again;
  back.write(again);
  CHECK(again.data == bytes.data);
  return bytes.data.size();
}

template <class Function>
std::size_t size_of(std::size_t count, const Function& value_of, bool are_ranks = true) {
  const Ranks ranks = first_ranks(count);
  PerRank values;
  for (const std::int32_t rank : ranks) values.push_back(value_of(rank));
  return coded_size(values, ranks, are_ranks);
}

// A process grid with as many ranks along each axis, the first axis fastest.
struct Grid {
  std::vector<int> extents;

  int size() const {
    int ranks = 1;
    for (const int extent : extents) ranks *= extent;
    return ranks;
  }
  // The rank so many steps away along each axis, -1 outside of a grid that is not periodic.
  int neighbour(int rank, const std::vector<int>& steps, bool periodic) const {
    int stride = 1, other = 0;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const int extent = extents[axis];
      int place = rank / stride % extent + steps[axis];
      if (!periodic && (place < 0 || place >= extent)) return -1;
      place = (place + extent) % extent;
      other += place * stride;
      stride *= extent;
    }
    return other;
  }
};

// Writes and reads it behind others, which are written before it; returns its number of bytes.
std::size_t size_behind(const std::vector<PerRank>& others, const PerRank& values) {
  const Ranks ranks = first_ranks(values.size());
  std::vector<RankVector> before;
  for (const PerRank& other : others) before.push_back(RankVector::of(other, ranks, before));
  const RankVector vector = RankVector::of(values, ranks, before);
  CHECK(gives(vector, values, ranks));
  Bytes bytes;
  for (const RankVector& other : before) other.write(bytes);
  const std::size_t start = bytes.data.size();
  vector.write(bytes);
  ByteReader in(bytes.data);
  std::vector<RankVector> read;
  for (std::size_t i = 0; i <= others.size(); ++i) {
    read.push_back(RankVector::read(in, values.size(), read));
  }
  CHECK(in.at_end() && gives(read.back(), values, ranks));
  Bytes again;
  for (const RankVector& one : read) one.write(again);
  CHECK(again.data == bytes.data);
  return bytes.data.size() - start;
}

PerRank drawn(std::mt19937_64& random, std::size_t count, std::int64_t least,
              std::uint64_t spread) {
  PerRank values;
  while (values.size() < count) {
    values.push_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + random() % spread));
  }
  return values;
}

template <class Function>
PerRank mapped(PerRank values, const Function& function) {
  for (std::int64_t& value : values) value = function(value);
  return values;
}

}  // namespace

TEST("rank vector: closed forms take a few bytes for any number of ranks") {
  for (const std::size_t ranks : {1U, 2U, 7U, 64U, 4096U, 20000U}) {
    const auto count = static_cast<std::int32_t>(ranks);
    CHECK(size_of(ranks, [](int) { return -333; }) <= 3);
    CHECK(size_of(
              ranks, [](int) { return 1'000'000; }, false) <= 5);
    CHECK(size_of(ranks, [](int rank) { return rank + 1; }) <= 3);
    CHECK(size_of(ranks, [](int rank) { return rank ^ 64; }) <= 3);
    CHECK(size_of(ranks, [count](int rank) { return (rank + 1) % count; }) <= 9);
    CHECK(size_of(ranks, [count](int rank) { return (rank + count - 1) % count; }) <= 9);
  }
}

TEST("rank vector: neighbours in grids of one to four dimensions") {
  for (const Grid& grid : {Grid{{4096}}, Grid{{64, 64}}, Grid{{16, 16, 16}}, Grid{{8, 8, 8, 8}},
                           Grid{{5, 7, 11, 3}}, Grid{{2, 2, 2}}, Grid{{40, 30, 20}}}) {
    std::vector<int> steps(grid.extents.size(), -1);
    for (bool more = true; more;) {
      for (const bool periodic : {true, false}) {
        const auto value_of = [&](int rank) { return grid.neighbour(rank, steps, periodic); };
        const std::size_t size = size_of(static_cast<std::size_t>(grid.size()), value_of);
        if (periodic) CHECK(size <= 3 + 5 * steps.size());
      }
      more = false;  // the next combination of -1, 0 and 1
      for (int& step : steps) {
        if (step < 1) {
          ++step;
          more = true;
          break;
        }
        step = -1;
      }
    }
  }
}

TEST("rank vector: the class of each rank in a grid with borders") {
  const Grid grid{{16, 16, 16}};
  const auto class_of = [](int rank) {
    int number = 0;
    for (int axis = 0; axis < 3; ++axis, rank /= 16) {
      const int place = rank % 16;
      number = 3 * number + (place == 0 ? 0 : place == 15 ? 2 : 1);
    }
    return number;
  };
  CHECK(size_of(static_cast<std::size_t>(grid.size()), class_of, false) < 100);
}

TEST("rank vector: trees, transposes, colours and keys") {
  CHECK(size_of(4096, [](int rank) { return rank == 0 ? -1 : (rank - 1) / 2; }) < 20);
  CHECK(size_of(4096, [](int rank) { return 2 * rank + 1; }) < 20);
  CHECK(size_of(4096, [](int rank) { return rank & (rank - 1); }) < 80);  // binomial tree
  CHECK(size_of(4096, [](int rank) { return rank % 64 * 64 + rank / 64; }) < 24);
  CHECK(size_of(
            4096, [](int rank) { return rank / 64; }, false) < 24);
  CHECK(size_of(
            4096, [](int rank) { return rank % 64; }, false) < 24);
  CHECK(size_of(
            4096, [](int rank) { return -rank; }, false) < 12);
  CHECK(size_of(
            100'000, [](int rank) { return 8 * (rank % 100) + 5; }, false) < 24);
  CHECK(size_of(
            100'000, [](int rank) { return rank / 10 % 3; }, false) < 24);
}

TEST("rank vector: data without structure takes as many bytes as it has") {
  std::mt19937_64 random(1);
  CHECK(size_of(
            4096, [&](int) { return std::int64_t(900'000 + random() % 60'000); }, false) <=
        2 * 4096 + 6);
  CHECK(size_of(
            20'000, [&](int) { return std::int64_t(random()); }, false) <= 8 * 20'000 + 12);
  CHECK(size_of(4096, [&](int rank) { return rank + std::int64_t(random() % 200); }) <= 4096 + 6);
  CHECK(size_of(100, [&](int rank) { return rank % 2 ? INT64_MAX : INT64_MIN; }) < 40);
}

TEST("rank vector: any values of any ranks") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 1500; ++round) {
    Ranks ranks;
    std::int32_t rank = 0;
    const std::uint64_t gap = 1 + random() % 3;
    for (std::size_t left = 1 + random() % 60; left > 0; --left) {
      ranks.push_back(rank);
      rank += static_cast<std::int32_t>(1 + random() % gap);
    }
    const auto other = static_cast<std::int64_t>(random() % 40);
    const std::uint64_t kind = random() % 8;
    PerRank values;
    for (const std::int32_t one : ranks) {
      switch (kind == 7 ? random() % 7 : kind) {
        case 0:
          values.push_back(other);
          break;
        case 1:
          values.push_back(one + other);
          break;
        case 2:
          values.push_back(one ^ other);
          break;
        case 3:
          values.push_back((one + other) % (rank + 3));
          break;
        case 4:
          values.push_back(static_cast<std::int64_t>(random() >> (random() % 64)));
          break;
        case 5:
          values.push_back(-static_cast<std::int64_t>(random() % 4));
          break;
        default:
          values.push_back(one / (other + 1) * 3);
      }
    }
    coded_size(values, ranks, round % 2 == 0);
  }
  coded_size({}, {}, true);
}

TEST("rank vector: multiples of a vector before take a few bytes") {
  std::mt19937_64 random(4);
  const PerRank base = drawn(random, 4096, 266'666, 133'334);
  CHECK(size_behind({base}, mapped(base, [](auto v) { return 2 * v; })) <= 6);
  CHECK(size_behind({base}, mapped(base, [](auto v) { return v / 2; })) <= 6);
  CHECK(size_behind({base}, mapped(base, [](auto v) { return 7 * v / 12 + 1000; })) <= 10);
  CHECK(size_behind({base}, mapped(base, [](auto v) { return 31 * v - 5'000'000; })) <= 12);
  CHECK(size_behind({base}, base) <= 6);
  // Rounded to the nearest, and with an error.
  CHECK(size_behind({base}, mapped(base, [](auto v) { return (v + 2) / 5; })) < 2000);
  CHECK(size_behind({base}, mapped(base, [&](auto v) {
                      return 3 * v + static_cast<std::int64_t>(random() % 100);
                    })) <= 4096 + 16);
  // Not only of the last one before.
  const PerRank other = drawn(random, 4096, 0, 1'000'000);
  const PerRank twice = mapped(base, [](auto v) { return 2 * v; });
  CHECK(size_behind({base, other}, twice) <= 6);
  CHECK(size_behind({base, twice}, mapped(base, [](auto v) { return 3 * v; })) <= 6);
}

TEST("rank vector: any values behind any others") {
  std::mt19937_64 random(5);
  constexpr std::int64_t kLeast = INT64_MIN;
  for (int round = 0; round < 600; ++round) {
    const std::size_t count = 1 + random() % 60;
    std::vector<PerRank> others;
    for (std::size_t left = random() % 12; left > 0; --left) {
      others.push_back(random() % 3 == 0
                           ? drawn(random, count, kLeast, ~std::uint64_t{0})
                           : drawn(random, count, static_cast<std::int64_t>(random() % 1000) - 500,
                                   1 + random() % 100'000));
    }
    PerRank values = drawn(random, count, 0, 1 + random() % 100'000);
    if (!others.empty() && random() % 2 == 0) {
      const std::uint64_t times = random() % 70'000;
      const std::int64_t parts = 1 + static_cast<std::int64_t>(random() % 50);
      values = mapped(others[random() % others.size()], [&](std::int64_t v) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(v) * times) / parts;
      });
    }
    size_behind(others, values);
  }
}

TEST("rank vector: multiples of what is not there, or has none, are refused") {
  const auto refused = [](const std::string& bytes, const char* why) {
    ByteReader in(bytes);
    std::vector<RankVector> before;
    std::string error;
    try {
      while (!in.at_end()) before.push_back(RankVector::read(in, 2, before));
    } catch (const FormatError& refusal) {
      error = refusal.what();
    }
    CHECK(error.find(why) != std::string::npos);
  };
  const std::string plain("\x08\x00\x01\x05\x07", 5);
  const std::string twice("\x0b\x00\x02\x01\x00\x00", 6);
  refused(twice, "one that is not there");
  refused(plain + std::string("\x0b\x01\x02\x01\x00\x00", 6), "one that is not there");
  refused(std::string("\x00\x02", 2) + twice, "one that is not plain");
  // No multiples of multiples, neither as what they refer to nor as their rest.
  refused(plain + twice + twice, "one that is not plain");
  refused(plain + std::string("\x0b\x00\x02\x01", 4) + twice, "one that is not there");
  refused(plain + std::string("\x0b\x00\x02\x00\x00\x00", 6), "has no parts");
  refused(plain + std::string("\x0b\x00\x81\x80\x04\x01\x00\x00", 8), "a multiple");
}

TEST("rank vector: damaged bytes are a vector or refused") {
  std::mt19937_64 random(3);
  const Ranks ranks = first_ranks(50);
  for (int kind = 0; kind < 5; ++kind) {
    PerRank values;
    for (const std::int32_t rank : ranks) {
      values.push_back(kind == 0   ? (rank + 5) % 50
                       : kind == 1 ? rank / 7
                       : kind == 2 ? std::int64_t(random() % 1000)
                       : kind == 3 ? rank ^ (rank % 3)
                                   : rank % 5 - 1);
    }
    Bytes bytes;
    RankVector::of(values, ranks, true).write(bytes);
    for (int round = 0; round < 1500; ++round) {
      std::string damaged = bytes.data;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      if (random() % 4 == 0) damaged.resize(random() % damaged.size());
      try {
        ByteReader in(damaged);
        CHECK(RankVector::read(in, ranks.size()).all(ranks).size() == ranks.size());
      } catch (const FormatError&) {
        // As it should be.
      }
    }
  }
  const std::string too_short("\x08\x00\x01\x05", 4);
  ByteReader in(too_short);
  CHECK_THROWS(RankVector::read(in, 2), FormatError, "a value for each rank");
}

}  // namespace tisim::tit
