#include "trace/check/check.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "trace/check/deadlocks.hpp"
#include "trace/check/rank_check.hpp"
#include "trace/check/trace_sums.hpp"
#include "trace/error.hpp"
#include "trace/walk/communicators.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

namespace {

constexpr std::uint64_t kOpsBetweenReports = 4096;  // operations between two progress reports
constexpr std::uint64_t kRanksBetweenReports = 64;

// Reads all ranks once. If one cannot be read, only invalid lines are reported.
class Pass {
 public:
  Pass(const TraceSet& set, const Communicators& communicators, Loops loops,
       const Progress& progress)
      : set_(set),
        communicators_(communicators),
        progress_(progress),
        calls_(RankWalk::shared_calls(set)),
        bytes_(std::max(static_cast<double>(set.bytes()), 1.0)),
        sums_(set, communicators, progress),
        loops_(loops) {}

  // How to treat a comm_split or comm_dup.
  enum class CommunicatorPolicy : std::uint8_t { stop, known, ignored };

  // Returns nullopt if it stopped at one.
  std::optional<CheckReport> run(CommunicatorPolicy policy) {
    for (std::int32_t rank = 0; rank < set_.ranks(); ++rank) {
      try {
        if (!read(rank, policy)) return std::nullopt;
      } catch (const TraceError& error) {
        if (error.line == 0) throw;
        unreadable_.add({Severity::error, rank, error.file, error.line, error.message});
        sums_.ignore_messages();
      }
    }
    CheckReport report;
    sums_.counter().report(report);
    if (unreadable_.errors() > 0) {
      report.findings = std::move(unreadable_);
      return report;
    }
    warn();
    if (!is_cut_) {
      sums_.messages().report(findings_);
      sums_.collectives().report(findings_);
    }
    sums_.written().report(set_, findings_);
    // Mismatches have been reported; a rank waiting on one is not a further error.
    if (findings_.errors() == 0 && !is_cut_) {
      find_deadlocks(set_, communicators_, loops_, progress_, findings_);
    }
    if (!is_cut_) ends_.report(set_, findings_);
    choices_.report(set_, findings_);
    if (findings_.errors() + findings_.warnings() == 0) sums_.balance().report(set_, findings_);
    report.findings = std::move(findings_);
    return report;
  }

 private:
  bool read(std::int32_t rank, CommunicatorPolicy policy) {
    RankWalk walk(set_, communicators_, rank, nullptr, RankWalk::kUsualBatch, calls_);
    if (loops_ == Loops::by_repetition) walk.stop_at_loops();
    RankCheck rank_check(walk, rank, sums_, findings_);
    for (std::uint64_t count = 1; rank_check.next(); ++count) {
      if (count % kOpsBetweenReports == 0) report_read(walk);
      const Kind kind = walk.op().kind;
      if (makes_communicator(kind) && policy == CommunicatorPolicy::stop) return false;
      rank_check.take();
    }
    if (++ranks_read_ % kRanksBetweenReports == 0 || rank + 1 == set_.ranks()) report_read(walk);
    bytes_before_ += walk.reader().bytes_read();
    rank_check.finish(ends_, choices_, is_cut_);
    if (walk.reader().uses_lost_type()) lost_types_.push_back(rank);
    if (walk.reader().uses_mistaken_null()) mistaken_nulls_.push_back(rank);
    return true;
  }

  void report_read(const RankWalk& walk) const {
    report_progress(progress_,
                    static_cast<double>(bytes_before_ + walk.reader().bytes_read()) / bytes_);
  }

  void warn() {
    const auto say = [&](const std::vector<std::int32_t>& ranks, const char* what) {
      if (ranks.empty()) return;
      const std::string others =
          ranks.size() > 1 ? "; so have " + std::to_string(ranks.size() - 1) + " more ranks" : "";
      findings_.add({Severity::warning, ranks.front(), set_.file(ranks.front()), 0, what + others});
    };
    say(lost_types_,
        "has messages of type -1, whose size the tracer lost; they are counted as empty");
    if (is_cut_) {
      findings_.add({Severity::warning, 0, set_.file(0), 0,
                     "is incomplete: the program did not finish when it was recorded. Messages and "
                     "collectives without a counterpart, pending requests and "
                     "deadlocks are not checked; a replay ends where the first rank waits for "
                     "an unrecorded call"});
    }
    say(mistaken_nulls_, "has receives from -333, interpreted as MPI_ANY_SOURCE");
  }

  const TraceSet& set_;
  const Communicators& communicators_;
  const Progress& progress_;
  std::shared_ptr<CallTable> calls_;  // of all ranks, if shared
  double bytes_;                      // of all ranks
  std::uint64_t bytes_before_ = 0;    // of the ranks read so far
  std::uint64_t ranks_read_ = 0;
  TraceSums sums_;
  ProgramEnds ends_;
  ChoiceNotes choices_;
  Findings findings_;
  Findings unreadable_;
  std::vector<std::int32_t> lost_types_;
  std::vector<std::int32_t> mistaken_nulls_;
  Loops loops_;
  bool is_cut_ = set_.is_cut();
};

}  // namespace

CheckReport check(const TraceSet& set, const Progress& progress, Loops loops) {
  // Few traces create communicators, and only those need a second pass.
  const Communicators world(set.ranks());
  if (std::optional<CheckReport> report =
          Pass(set, world, loops, progress).run(Pass::CommunicatorPolicy::stop)) {
    return std::move(*report);
  }
  try {
    const Communicators all = Communicators::of(set, part_of(progress, 0.0, 0.5));
    return Pass(set, all, loops, part_of(progress, 0.5, 1.0))
        .run(Pass::CommunicatorPolicy::known)
        .value();
  } catch (const TraceError& error) {
    if (error.line == 0) throw;
  }
  return Pass(set, world, loops, progress).run(Pass::CommunicatorPolicy::ignored).value();
}

}  // namespace tisim
