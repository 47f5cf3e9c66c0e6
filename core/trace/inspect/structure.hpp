// The loops of a class of ranks, and its program as an outline.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/tit/file/tables.hpp"

namespace tisim {

// A repeated part of a program.
struct ProgramLoop {
  std::uint64_t iterations = 0;
  std::uint64_t entered = 0;  // number of times that a rank reaches it
  std::uint64_t calls = 0;    // of one iteration
  // Actions of one iteration in order of first occurrence, with their counts.
  std::vector<std::pair<std::string, std::uint64_t>> actions;
  std::uint64_t all_calls() const { return iterations * entered * calls; }
};

// A line of an outline: a call, a loop whose lines follow one level deeper, or omitted lines.
struct OutlineLine {
  enum class LineKind : std::uint8_t { call, loop, omitted };
  LineKind kind = LineKind::call;
  std::uint32_t depth = 0;
  std::uint64_t times = 1;
  std::uint32_t signature = 0;  // of a call
  std::uint64_t calls = 1;      // number of calls it represents each time
};

class ProgramStructure {
 public:
  // Both must outlive it. `actions`: of each call of the class; empty: omit the names.
  ProgramStructure(const tit::RankClass& rank_class, const std::vector<std::string>& actions);

  std::uint64_t calls() const { return lengths_[0]; }
  std::uint64_t longest_loop() const;
  // The `most` loops with the most calls; `others` is set to the number of remaining loops.
  std::vector<ProgramLoop> loops(std::size_t most, std::uint64_t& others) const;
  // At most `most` lines, followed by one for any omitted lines.
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
  std::vector<std::uint32_t> order_;    // of rules, each before those it uses
  std::vector<Repeat> repeats_;
};

}  // namespace tisim
