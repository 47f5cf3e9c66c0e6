#include "trace/check/rank_check.hpp"

#include <algorithm>
#include <string>

#include "support/mixing.hpp"

namespace tisim {

void ProgramEnd::take(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  last_line_ = op.line;
  if ((op.flags & kIsInit) != 0) has_init_ = true;
  if ((op.flags & kIsFinalize) != 0 && finalize_line_ == 0) {
    finalize_line_ = op.line;
    return;
  }
  if (finalize_line_ == 0 || reported_ || op.kind == Kind::nop) return;
  reported_ = true;
  const bool is_local = op.kind == Kind::compute || op.kind == Kind::sleep || op.kind == Kind::file;
  const std::string name(name_of(op.kind, walk.operation()));
  findings.add({is_local ? Severity::warning : Severity::error, rank_, walk.reader().file(),
                op.line,
                name + " comes after the finalize on line " + std::to_string(finalize_line_) +
                    (is_local ? "; are these two traces in one file?"
                              : ", after which no rank communicates; move finalize after it, or "
                                "are these two traces in one file?")});
}

void ProgramEnds::report(const TraceSet& set, Findings& findings) const {
  if (open_.empty() || !any_finalized_) return;
  const ProgramEnd& first = open_.front();
  const std::size_t others = open_.size() - 1;
  findings.add({Severity::warning, first.rank(), set.file(first.rank()), first.last_line(),
                "is the last action, without a finalize after the init, as on other "
                "ranks: add it, or trace the program again if it was interrupted" +
                    (others == 0 ? std::string()
                                 : "; the same applies to " + std::to_string(others) +
                                       (others == 1 ? " more rank" : " more ranks"))});
}

void ChoiceNotes::report(const TraceSet& set, Findings& findings) const {
  std::vector<std::int32_t> choosers;
  for (std::int32_t rank = 0; rank < set.ranks(); ++rank) {
    if (set.sources_decide(rank)) choosers.push_back(rank);
  }
  if (!choosers.empty()) {
    const std::string others =
        choosers.size() == 1 ? ""
        : choosers.size() == 2
            ? ", and so do those of one more rank"
            : ", and so do those of " + std::to_string(choosers.size() - 1) + " more ranks";
    findings.add({Severity::note, choosers.front(), set.file(choosers.front()), 0,
                  "receives from any source determine the messages left for other receives" +
                      others +
                      ": a replay uses the messages matched when the program was recorded"});
  }
  if (calls_ == 0) return;
  const std::string ranks =
      ranks_ == 1 ? "this rank" : std::to_string(ranks_) + " ranks, the first one here,";
  const std::string decide =
      calls_ == 1 ? " call of " + ranks + " decides" : " calls of " + ranks + " decide";
  findings.add({Severity::note, rank_, set.file(rank_), line_,
                std::to_string(calls_) + decide +
                    " what the rank does next by the completed requests: a replay "
                    "completes the requests that completed when the program was recorded"});
}

namespace {

constexpr int kMaxTurns = 6;  // of a loop to compare: some loops never repeat themselves exactly

}  // namespace

bool RankCheck::next() {
  while (const auto turn = walk_.turn()) pass_turn(*turn);
  return walk_.next();
}

void RankCheck::take() {
  end_.take(walk_, findings_);
  take_choice();
  requests_.take(walk_);
  for (const RankRequests::Problem& problem : requests_.problems()) report(problem);
  files_.take(walk_, findings_);
  writes_.take(walk_);
  windows_.take(walk_, findings_);
  check_communicator();
  Repetition* const record = records_ ? &repetition_ : nullptr;
  sums_.take(walk_, rank_, requests_.messages(), findings_, record);
  if (requests_.cancelled()) sums_.cancel(*requests_.cancelled(), record);
}

void RankCheck::take_choice() {
  const bool was_open = group_.is_open();
  const CompletionGroup::Effect effect = group_.take(walk_.op(), walk_.calls());
  if (effect.decided > 0 && decided_ == 0) decided_first_ = group_line_;
  decided_ += effect.decided;
  if (group_.is_open() && (!was_open || effect.decided > 0)) group_line_ = walk_.op().line;
}

void RankCheck::finish(ProgramEnds& ends, ChoiceNotes& choices, bool is_cut) {
  if (!is_cut) {
    report_pending();
    windows_.finish(walk_.reader().file(), findings_);
  }
  choices.add(rank_, decided_, decided_first_);
  ends.take(end_);
  sums_.end_rank(rank_);
}

void RankCheck::pass_turn(LoopTurn turn) {
  if (!in_loop_) {
    begin_ = turn.line;
    turns_ = 0;
    records_ = true;
  } else if (records_) {
    const std::uint64_t signature = this->signature(turn);
    const std::uint64_t complete = requests_.unidentified_completions();
    // The first repetition follows different operations than the others.
    if (++turns_ > 1 && signature == signature_ && turn.remaining > 0) {
      sums_.repeat(rank_, repetition_, turn.remaining);
      const SkippedLines skipped{begin_, turn.remaining * (turn.line - line_)};
      requests_.skip(skipped, turn.remaining * (complete - unidentified_completions_));
      decided_ += turn.remaining * (decided_ - decided_before_);
      files_.skip(skipped);
      windows_.skip(skipped);
      writes_.repeat(turn.remaining);
      end_.skip(skipped);
      walk_.skip_repetitions(turn.remaining);
    }
    records_ = turns_ < kMaxTurns;
    signature_ = signature;
    unidentified_completions_ = complete;
    decided_before_ = decided_;
  }
  in_loop_ = turn.remaining > 0;
  records_ = records_ && in_loop_;
  line_ = turn.line;
  repetition_.clear();
  writes_.begin_repetition();
}

std::uint64_t RankCheck::signature(LoopTurn turn) const {
  std::uint64_t hash = requests_.signature({begin_, turn.line});
  hash = mixed(hash, files_.signature({begin_, turn.line}));
  hash = mixed(hash, windows_.signature({begin_, turn.line}));
  hash = mixed(hash, walk_.signature());
  hash = mixed(hash, end_.signature());
  hash = mixed(hash, group_.remaining());
  return mixed(hash, findings_.errors() + findings_.warnings());
}

void RankCheck::report(const RankRequests::Problem& problem) {
  using Fault = RankRequests::Fault;
  const auto say = [&](Severity severity, const std::string& what) {
    findings_.add({severity, rank_, walk_.reader().file(), walk_.op().line, what});
  };
  const auto fail = [&](const std::string& what) {
    say(Severity::error, "request " + std::to_string(problem.number) + " " + what);
  };
  const std::string since = " since line " + std::to_string(problem.since);
  switch (problem.fault) {
    case Fault::not_pending:
      return say(Severity::warning,
                 "waits for a request that is not pending: no isend or irecv before it has this "
                 "source, destination and tag");
    case Fault::none_pending:
      return say(Severity::warning, "waits for a request, but none is pending");
    case Fault::free_of_unknown:
      return say(
          Severity::warning,
          "frees a request that does not exist: no isend, irecv or persistent request before "
          "it has this source, destination and tag");
    case Fault::still_pending:
      return fail("is still pending" + since +
                  "; wait for it or test it before reusing its number");
    case Fault::unknown_number:
      return fail(
          "does not exist; a number is valid from the line that assigns it to the wait for "
          "it");
    case Fault::not_persistent:
      return fail("is not persistent; a start needs the number of a send_init or recv_init");
    case Fault::still_active:
      return fail("is still active" + since + "; wait for it or test it before starting it again");
    case Fault::of_a_collective:
      return fail("is of a collective; MPI only allows waiting for it or testing it");
    case Fault::not_active:
      return fail("is not active; start it before cancelling it");
  }
}

// Reports requests that are still pending at the end of the rank.
void RankCheck::report_pending() {
  const std::vector<std::uint32_t> lines = requests_.pending_lines();
  const std::uint64_t complete = requests_.unidentified_completions();
  if (lines.size() <= complete) return;
  const std::uint64_t left = lines.size() - complete;
  findings_.add({Severity::warning, rank_, walk_.reader().file(),
                 *std::min_element(lines.begin(), lines.end()),
                 left == 1 ? "posts a request that is never waited for"
                           : "posts the first of " + std::to_string(left) +
                                 " requests that are never waited for"});
}

void RankCheck::check_communicator() {
  const Op& op = walk_.op();
  if (walk_.group().group != kNoGroup) return;
  findings_.add(
      {Severity::error, rank_, walk_.reader().file(), op.line,
       "uses the communicator " + std::to_string(op.comm) + ", which this rank is not in"});
}

}  // namespace tisim
