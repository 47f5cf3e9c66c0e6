// Checks one rank of a trace; loops are checked by one of their repetitions.
#pragma once

#include <cstdint>
#include <vector>

#include "support/mixing.hpp"
#include "support/progress.hpp"
#include "trace/check/files.hpp"
#include "trace/check/finding.hpp"
#include "trace/check/open_windows.hpp"
#include "trace/check/trace_sums.hpp"
#include "trace/requests/completion_group.hpp"
#include "trace/walk/rank_requests.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// The ends of the ranks' programs.

// The `init` and `finalize` of one rank, and the actions after them.
class ProgramEnd {
 public:
  explicit ProgramEnd(std::int32_t rank) : rank_(rank) {}

  // Adds an error for the first communication after `finalize`, and a warning for the first other
  // action.
  void take(const RankWalk& walk, Findings& findings);

  // Hash of all but the last line, and the update for skipped lines.
  std::uint64_t signature() const {
    return mixed(mixed(finalize_line_, 1), (has_init_ ? 2U : 0U) + (reported_ ? 1U : 0U));
  }
  void skip(const SkippedLines& skipped) { last_line_ = skipped.moved(last_line_); }

  std::int32_t rank() const { return rank_; }
  std::uint32_t last_line() const { return last_line_; }
  // True if the program began but never ended.
  bool is_open() const { return has_init_ && finalize_line_ == 0; }
  bool is_finalized() const { return finalize_line_ != 0; }

 private:
  std::int32_t rank_;
  std::uint32_t finalize_line_ = 0;  // 0: not yet
  std::uint32_t last_line_ = 0;
  bool has_init_ = false;
  bool reported_ = false;
};

// The ends of the programs of all ranks.
class ProgramEnds {
 public:
  void take(const ProgramEnd& end) {
    if (end.is_open()) open_.push_back(end);
    any_finalized_ = any_finalized_ || end.is_finalized();
  }
  // Adds a warning about ranks without `finalize` if other ranks have one. A trace in which no rank
  // has one was written that way.
  void report(const TraceSet& set, Findings& findings) const;

 private:
  std::vector<ProgramEnd> open_;
  bool any_finalized_ = false;
};

// Calls whose completions decide what their rank does next.
class ChoiceNotes {
 public:
  // Adds the calls of a rank; `line` is that of the first one.
  void add(std::int32_t rank, std::uint64_t calls, std::uint32_t line) {
    if (calls > 0 && calls_ == 0) rank_ = rank, line_ = line;
    calls_ += calls;
    ranks_ += calls > 0 ? 1 : 0;
  }
  // Adds notes on them, and on wildcard receives that decide what is left for other receives.
  void report(const TraceSet& set, Findings& findings) const;

 private:
  std::uint64_t calls_ = 0;
  std::int32_t ranks_ = 0;
  std::int32_t rank_ = 0;  // first rank with such a call
  std::uint32_t line_ = 0;
};

// If a repetition of a loop starts in the same state of its rank (requests, communicators, problems
// reported) as the one before, it does the same, and so do all that follow. Those are not read: the
// contribution of the last one to the sums is multiplied instead. Findings, sums and lines equal
// those of a check that reads every action.
class RankCheck {
 public:
  // All must outlive it.
  RankCheck(RankWalk& walk, std::int32_t rank, TraceSums& sums, Findings& findings)
      : walk_(walk),
        rank_(rank),
        sums_(sums),
        findings_(findings),
        files_(rank),
        writes_(rank, sums.written()),
        windows_(rank),
        end_(rank) {}

  // Advances to the next operation; returns false at the end. Throws TraceError.
  bool next();
  // Adds the current operation.
  void take();
  // Call after the last operation. Pending requests in a truncated trace are not errors.
  void finish(ProgramEnds& ends, ChoiceNotes& choices, bool is_cut);

 private:
  void pass_turn(LoopTurn turn);
  void check_communicator();
  void report(const RankRequests::Problem& problem);
  void report_pending();
  void take_choice();
  std::uint64_t signature(LoopTurn turn) const;

  RankWalk& walk_;
  std::int32_t rank_;
  TraceSums& sums_;
  Findings& findings_;
  RankRequests requests_;
  OpenFiles files_;
  FileWrites writes_;
  OpenWindows windows_;
  ProgramEnd end_;
  CompletionGroup group_;
  std::uint32_t group_line_ = 0;     // where it began
  std::uint64_t decided_ = 0;        // number of calls of groups that decide
  std::uint32_t decided_first_ = 0;  // line of the first one

  // State of the current loop.
  Repetition repetition_;  // operations since the last turn
  bool in_loop_ = false;
  bool records_ = false;
  int turns_ = 0;  // read
  std::uint64_t begin_ = 0;
  std::uint64_t line_ = 0;                      // at the last turn
  std::uint64_t signature_ = 0;                 // at the last turn
  std::uint64_t unidentified_completions_ = 0;  // at the last turn
  std::uint64_t decided_before_ = 0;            // at the last turn
};

}  // namespace tisim
