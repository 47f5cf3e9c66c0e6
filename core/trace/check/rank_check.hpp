// Reads one rank of a trace for a check, loops by what one repetition of them does.
#pragma once

#include <cstdint>
#include <vector>

#include "support/progress.hpp"
#include "trace/check/files/file_writes.hpp"
#include "trace/check/files/open_files.hpp"
#include "trace/check/program_end.hpp"
#include "trace/check/requests/requests.hpp"
#include "trace/check/trace_sums.hpp"
#include "trace/walk/finding.hpp"
#include "trace/walk/messages.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// A repetition of a loop that finds the state of its rank (requests, communicators, what has been
// said) as the repetition before has left it does the same as that one, and so do all that follow.
// Then they are not read: what the last one added to the sums is added so often. Findings, sums and
// lines are those of a check that reads every action.
class RankCheck {
 public:
  // All must outlive it.
  RankCheck(RankWalk& walk, std::int32_t rank, bool legacy, TraceSums& sums, Findings& findings)
      : walk_(walk),
        rank_(rank),
        sums_(sums),
        findings_(findings),
        requests_(rank, legacy),
        files_(rank),
        writes_(rank, sums.written()),
        end_(rank) {}

  // Goes to the next operation; false at the end. Throws TraceError.
  bool next();
  // Takes the operation at hand into account.
  void take();
  // Behind the last operation.
  void finish(ProgramEnds& ends);

 private:
  void at_turn(LoopTurn turn);
  void check_communicator();
  std::uint64_t signature(LoopTurn turn) const;

  RankWalk& walk_;
  std::int32_t rank_;
  TraceSums& sums_;
  Findings& findings_;
  MessageReader reader_;
  Requests requests_;
  OpenFiles files_;
  FileWrites writes_;
  ProgramEnd end_;
  std::vector<TraceMessage> messages_;  // of the operation at hand

  // Of the loop at hand.
  Repetition repetition_;  // what has been read of it since the turn before
  bool in_loop_ = false;
  bool records_ = false;
  int turns_ = 0;  // read
  std::uint64_t begin_ = 0;
  std::uint64_t line_ = 0;                // at the turn before
  std::uint64_t signature_ = 0;           // there
  std::uint64_t complete_somewhere_ = 0;  // there
};

}  // namespace tisim
