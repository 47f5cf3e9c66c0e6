#include "trace/check/deadlocks.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "trace/check/permissive_run.hpp"

namespace tisim {

namespace {

constexpr std::size_t kMaxRanksShown = 6;  // ranks of a cycle
constexpr std::size_t kMaxCycles = 8;

using Block = PermissiveRun::Block;
using Wait = PermissiveRun::Wait;

std::string numbered(std::int32_t rank) { return "rank " + std::to_string(rank); }

// Describes what a rank waits for, as the rest of a sentence about it.
std::string waiting(const Block& block, std::int32_t on) {
  switch (block.wait) {
    case Wait::collective:
      return "waits in " + std::string(name_of(block.kind, block.operation)) + " for " +
             numbered(on);
    case Wait::none:
    case Wait::receive:
    case Wait::probe:
    case Wait::all:
    case Wait::any:
      break;
  }
  const std::string what =
      block.at_end ? "at its end" : "in " + std::string(name_of(block.kind, block.operation));
  return "waits " + what + " for a message from " + numbered(on) +
         (block.on < 0     ? " or another rank"
          : block.tag >= 0 ? " (tag " + std::to_string(block.tag) + ")"
                           : "");
}

bool is_message(const Block& block) { return block.wait != Wait::collective; }

// The waiting ranks and the ranks they wait for.
class Waiters {
 public:
  Waiters(const TraceSet& set, const PermissiveRun& run) : set_(&set) {
    for (std::int32_t rank = 0; rank < set.ranks(); ++rank) {
      blocks_.push_back(run.block_of(rank));
      stuck_ += blocks_.back().wait != Wait::none ? 1 : 0;
    }
    // A rank that waits for any source waits for all other waiting ranks, including the first.
    for (std::int32_t rank = 0; rank < set.ranks(); ++rank) {
      const Block& block = blocks_[static_cast<std::size_t>(rank)];
      next_.push_back(block.wait == Wait::none ? -1 : block.on >= 0 ? block.on : other_than(rank));
    }
  }

  void report(Findings& findings) const {
    std::vector<std::uint32_t> seen(blocks_.size(), 0);
    std::vector<std::vector<std::int32_t>> cycles;
    for (std::int32_t start = 0; start < set_->ranks(); ++start) {
      std::int32_t rank = start;
      const auto mark = static_cast<std::uint32_t>(start) + 1;
      while (rank >= 0 && seen[static_cast<std::size_t>(rank)] == 0) {
        seen[static_cast<std::size_t>(rank)] = mark;
        rank = next_[static_cast<std::size_t>(rank)];
      }
      if (rank < 0 || seen[static_cast<std::size_t>(rank)] != mark) continue;
      cycles.push_back(cycle_of(rank));
    }
    std::size_t in_cycles = 0;
    for (const auto& cycle : cycles) in_cycles += cycle.size();
    for (std::size_t i = 0; i < std::min(cycles.size(), kMaxCycles); ++i) {
      findings.add(finding_of(cycles[i], i == 0 ? stuck_ - in_cycles : 0));
    }
  }

 private:
  std::int32_t other_than(std::int32_t rank) const {
    for (std::int32_t other = 0; other < set_->ranks(); ++other) {
      if (other != rank && blocks_[static_cast<std::size_t>(other)].wait != Wait::none) {
        return other;
      }
    }
    return -1;
  }

  // Starts at its lowest rank.
  std::vector<std::int32_t> cycle_of(std::int32_t first) const {
    std::vector<std::int32_t> cycle;
    for (std::int32_t rank = first; cycle.empty() || rank != first;
         rank = next_[static_cast<std::size_t>(rank)]) {
      cycle.push_back(rank);
    }
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    return cycle;
  }

  std::string location(std::int32_t rank) const {
    return set_->file(rank) + ":" + std::to_string(blocks_[static_cast<std::size_t>(rank)].line);
  }

  Finding finding_of(const std::vector<std::int32_t>& cycle, std::size_t others) const {
    std::string text = "deadlock in any order of events: ";
    bool messages_only = true;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::int32_t rank = cycle[i];
      const Block& block = blocks_[static_cast<std::size_t>(rank)];
      messages_only = messages_only && is_message(block);
      const bool is_last = i + 1 == cycle.size();
      if (i >= kMaxRanksShown && !is_last) continue;
      if (i > 0) text += i > kMaxRanksShown ? ", ... " : ", ";
      text += numbered(rank);
      if (i > 0) text += " (" + location(rank) + ")";
      text += " " + waiting(block, next_[static_cast<std::size_t>(rank)]);
    }
    if (cycle.size() > kMaxRanksShown) {
      text += ", " + std::to_string(cycle.size()) + " ranks in all";
    }
    text += messages_only ? "; let one of them send before it receives, or use sendrecv or irecv"
                          : "; make these calls in the same order on all ranks";
    if (others > 0) {
      text += "; " + std::to_string(others) +
              (others == 1 ? " more rank waits" : " more ranks wait") + " for them";
    }
    const std::int32_t first = cycle.front();
    return {Severity::error, first, set_->file(first),
            blocks_[static_cast<std::size_t>(first)].line, text};
  }

  const TraceSet* set_;
  std::vector<Block> blocks_;
  std::vector<std::int32_t> next_;  // rank that each one waits for; -1: none
  std::size_t stuck_ = 0;
};

}  // namespace

void find_deadlocks(const TraceSet& set, const Communicators& communicators, Loops loops,
                    const Progress& progress, Findings& findings) {
  PermissiveRun run(set, communicators, loops, progress);
  if (run.run()) Waiters(set, run).report(findings);
}

}  // namespace tisim
