// The loops of a class of ranks, and its program as an outline.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/tit/file/tables.hpp"

namespace tisim {

// A part of a program that is repeated.
struct ProgramLoop {
  std::uint64_t iterations = 0;
  std::uint64_t entered = 0;  // how often a rank comes to it
  std::uint64_t calls = 0;    // of one iteration
  // Actions of one iteration in the order in which the rank makes them first, and how many of each.
  std::vector<std::pair<std::string, std::uint64_t>> actions;
  std::uint64_t all_calls() const { return iterations * entered * calls; }
};

// A line of an outline: a call, a loop whose lines follow one deeper, or what is left out.
struct OutlineLine {
  enum class What : std::uint8_t { call, loop, left_out };
  What what = What::call;
  std::uint32_t depth = 0;
  std::uint64_t times = 1;
  std::uint32_t signature = 0;  // of a call
  std::uint64_t calls = 1;      // that it stands for each time
};

class ProgramStructure {
 public:
  // Both must outlive it. `actions`: of each call of the class; empty: not to be named.
  ProgramStructure(const tit::RankClass& rank_class, const std::vector<std::string>& actions);

  std::uint64_t calls() const { return lengths_[0]; }
  std::uint64_t longest_loop() const;
  // The loops with the most calls, at most so many; `others`: the number of the others.
  std::vector<ProgramLoop> loops(std::size_t most, std::uint64_t& others) const;
  // At most so many lines, and one for what is left out behind them.
  std::vector<OutlineLine> outline(std::size_t most) const;

 private:
  struct Repeat {
    tit::Item item;
    std::uint64_t entered;
    std::uint64_t calls;  // of all iterations
  };

  void add_lines(std::uint32_t rule, std::uint32_t depth, std::size_t most,
                 std::vector<OutlineLine>& lines) const;
  void name_actions(tit::Item item, ProgramLoop& loop) const;
  std::uint64_t length_of(tit::Item item) const;

  const tit::RankClass& class_;
  const std::vector<std::string>& actions_;
  std::vector<std::uint64_t> lengths_;  // of rules, in calls
  std::vector<std::uint32_t> order_;    // of rules, each before those that it uses
  std::vector<Repeat> repeats_;
};

}  // namespace tisim
