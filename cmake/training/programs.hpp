// Programs for the training run: texts of traces with typical communication patterns.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace tisim::training {

class Program {
 public:
  explicit Program(int ranks) : texts_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) say(rank, "init");
  }

  void compute(int rank, std::uint64_t least, std::uint64_t spread) {
    // A linear congruential generator: the same numbers on every machine.
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    say(rank, "compute", {least + (random_ >> 33) % spread});
  }
  void send(int rank, int peer, int tag, int count) { message(rank, "send", peer, tag, count); }
  void receive(int rank, int peer, int tag, int count) { message(rank, "recv", peer, tag, count); }
  void isend(int rank, int peer, int tag, int count) { message(rank, "isend", peer, tag, count); }
  void ireceive(int rank, int peer, int tag, int count) {
    message(rank, "irecv", peer, tag, count);
  }
  void wait(int rank, int source, int destination, int tag) {
    say(rank, "wait", {number(source), number(destination), number(tag)});
  }
  void wait_all(int rank) { say(rank, "waitall"); }

  std::vector<std::string> finish() {
    for (int rank = 0; rank < ranks(); ++rank) say(rank, "finalize");
    return std::move(texts_);
  }
  int ranks() const { return static_cast<int>(texts_.size()); }

 private:
  static std::uint64_t number(int value) { return static_cast<std::uint64_t>(value); }

  void message(int rank, std::string_view action, int peer, int tag, int count) {
    say(rank, action, {number(peer), number(tag), number(count), 0});
  }

  void say(int rank, std::string_view action, std::initializer_list<std::uint64_t> numbers = {}) {
    std::string& text = texts_[static_cast<std::size_t>(rank)];
    text.append(std::to_string(rank)).append(" ").append(action);
    for (const std::uint64_t each : numbers) text.append(" ").append(std::to_string(each));
    text.append("\n");
  }

  std::vector<std::string> texts_;
  std::uint64_t random_ = 1;
};

// Fronts that run over a grid of ranks and back, plane by plane, with small blocking messages.
inline std::vector<std::string> wavefront(int width, int height, int planes) {
  Program program(width * height);
  for (int plane = 0; plane < planes; ++plane) {
    const int step = plane % 8 < 4 ? 1 : -1;
    for (int rank = 0; rank < program.ranks(); ++rank) {
      const int x = rank % width;
      const int y = rank / width;
      const auto inside = [&](int i, int j) { return i >= 0 && i < width && j >= 0 && j < height; };
      if (inside(x - step, y)) program.receive(rank, rank - step, 1, 155);
      if (inside(x, y - step)) program.receive(rank, rank - step * width, 3, 80);
      program.compute(rank, 20000, 8000);
      if (inside(x + step, y)) program.send(rank, rank + step, 1, 155);
      program.compute(rank, 1000, 300);
      if (inside(x, y + step)) program.send(rank, rank + step * width, 3, 80);
    }
  }
  return program.finish();
}

// Each rank exchanges with the partners of a butterfly, one after the other.
inline std::vector<std::string> exchanges(int ranks, int rounds) {
  constexpr int kCounts[] = {1, 1750, 1750, 16, 8712};
  Program program(ranks);
  for (int round = 0; round < rounds; ++round) {
    const int count = kCounts[round % std::ssize(kCounts)];
    for (int rank = 0; rank < ranks; ++rank) {
      for (int bit = 1; bit < ranks; bit *= 2) {
        program.ireceive(rank, rank ^ bit, bit, count);
        program.compute(rank, 1000, 2000);
        program.send(rank, rank ^ bit, bit, count);
        program.wait(rank, rank ^ bit, rank, bit);
      }
      program.compute(rank, 100000, 30000);
    }
  }
  return program.finish();
}

// All neighbours of a ring up to a distance, at once.
inline std::vector<std::string> halo(int ranks, int distance, int count, int iterations) {
  Program program(ranks);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (int rank = 0; rank < ranks; ++rank) {
      program.compute(rank, 100000, 1000000);
      for (int by = 1; by <= distance; ++by) {
        program.ireceive(rank, (rank + by) % ranks, by, count * by);
      }
      for (int by = 1; by <= distance; ++by) {
        program.isend(rank, (rank + ranks - by) % ranks, by, count * by);
      }
      program.wait_all(rank);
    }
  }
  return program.finish();
}

}  // namespace tisim::training
