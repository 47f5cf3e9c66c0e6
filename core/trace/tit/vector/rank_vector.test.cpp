// Vectors of ranks survive a round trip, and regular ones take a few bytes.
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

// A process grid with the given number of ranks along each axis, the first axis fastest.
struct Grid {
  std::vector<int> extents;

  int size() const {
    int ranks = 1;
    for (const int extent : extents) ranks *= extent;
    return ranks;
  }
  // The rank at these steps along each axis; -1 outside of a grid that is not periodic.
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

}  // namespace

TEST("rank vector: closed forms take a few bytes for any number of ranks") {
  for (const std::size_t ranks : {1U, 2U, 7U, 64U, 4096U, 20000U}) {
    const auto count = static_cast<std::int32_t>(ranks);
    CHECK(size_of(ranks, [](int) { return -333; }) <= 3);
    CHECK(size_of(
              ranks, [](int) { return 1'000'000; }, false) <= 5);
    CHECK(size_of(ranks, [](int rank) { return rank + 1; }) <= 3);
    CHECK(size_of(ranks, [](int rank) { return rank ^ 64; }) <= 3);
    CHECK(size_of(ranks, [count](int rank) { return (rank + 1) % count; }) <= 16);
    CHECK(size_of(ranks, [count](int rank) { return (rank + count - 1) % count; }) <= 16);
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
        if (periodic) CHECK(size <= 100);
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
    for (const std::int32_t member : ranks) {
      switch (kind == 7 ? random() % 7 : kind) {
        case 0:
          values.push_back(other);
          break;
        case 1:
          values.push_back(member + other);
          break;
        case 2:
          values.push_back(member ^ other);
          break;
        case 3:
          values.push_back((member + other) % (rank + 3));
          break;
        case 4:
          values.push_back(static_cast<std::int64_t>(random() >> (random() % 64)));
          break;
        case 5:
          values.push_back(-static_cast<std::int64_t>(random() % 4));
          break;
        default:
          values.push_back(member / (other + 1) * 3);
      }
    }
    coded_size(values, ranks, round % 2 == 0);
  }
  coded_size({}, {}, true);
}

TEST("rank vector: forms that earlier writers made are read") {
  const auto is_read = [](const std::string& bytes, const std::vector<PerRank>& expected) {
    ByteReader in(bytes);
    std::vector<RankVector> read;
    Bytes again;
    for (const PerRank& values : expected) {
      read.push_back(RankVector::read(in, values.size(), read));
      read.back().write(again);
      if (!gives(read.back(), values, first_ranks(values.size()))) return false;
    }
    return in.at_end() && again.data == bytes;
  };
  // Moved by 1 within 4 ranks, then by 4 within 8.
  CHECK(is_read(std::string("\x03\x00\x02\x04\x01\x08\x04", 7), {{5, 6, 7, 4, 1, 2, 3, 0}}));
  // The rank xor 1 three times, then -1.
  CHECK(is_read(std::string("\x06\x02\x04\x07\x03\x01\x02\x00", 8), {{1, 0, 3, -1}}));
  // 3 / 2 of the previous vector, plus 1.
  CHECK(
      is_read(std::string("\x08\x0a\x01\x00\x02\x0b\x00\x03\x02\x00\x02", 11), {{5, 7}, {8, 11}}));
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
  refused(twice, "a missing one");
  refused(plain + std::string("\x0b\x01\x02\x01\x00\x00", 6), "a missing one");
  refused(std::string("\x00\x02", 2) + twice, "one that is not plain");
  // No multiples of multiples, neither as the referenced vector nor as the rest.
  refused(plain + twice + twice, "one that is not plain");
  refused(plain + std::string("\x0b\x00\x02\x01", 4) + twice, "a missing one");
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
        // Expected.
      }
    }
  }
  const std::string too_short("\x08\x00\x01\x05", 4);
  ByteReader in(too_short);
  CHECK_THROWS(RankVector::read(in, 2), FormatError, "a value for each rank");
}

}  // namespace tisim::tit
