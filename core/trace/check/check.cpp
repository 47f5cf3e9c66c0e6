#include "trace/check/check.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "trace/check/balance.hpp"
#include "trace/check/collective_order.hpp"
#include "trace/check/deadlock/deadlocks.hpp"
#include "trace/check/message_ledger.hpp"
#include "trace/check/program_end.hpp"
#include "trace/check/requests.hpp"
#include "trace/error.hpp"
#include "trace/walk/communicators.hpp"
#include "trace/walk/messages.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

namespace {

constexpr std::uint64_t kOpsBetweenReports = 4096;  // so many operations between two reports

// Counts actions by kind and, for collectives, by operation.
class Counter {
 public:
  void take(const RankWalk& walk) {
    const Op& op = walk.op();
    const bool continues = (op.flags & kContinuation) != 0;
    const std::size_t operation =
        has_collective_call(op.kind) ? static_cast<std::size_t>(walk.call().operation) : 0;
    // What a line says beside its first operation counts for that.
    if (!continues) {
      current_ = &counts_[static_cast<std::size_t>(op.kind)][operation];
      ++current_->actions;
      ++actions_;
    }
    if (op.kind == Kind::compute || op.kind == Kind::sleep) current_->amount += op.amount;
  }
  void take(const TraceMessage& message) {
    if (message.is_receive) return;
    ++current_->messages;
    current_->bytes += static_cast<std::uint64_t>(message.bytes);
  }

  void report(CheckReport& into) const {
    into.actions = actions_;
    std::map<std::string, ActionCount> by_name;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      for (std::size_t operation = 0; operation < kOperations; ++operation) {
        const ActionCount& count = counts_[kind][operation];
        if (count.actions == 0) continue;
        const bool is_nop = kind == static_cast<std::size_t>(Kind::nop);
        const std::string name(
            is_nop ? "init, finalize and the like"
                   : name_of(static_cast<Kind>(kind), static_cast<Operation>(operation)));
        ActionCount& sum = by_name[name];
        sum.name = name;
        sum.actions += count.actions;
        sum.messages += count.messages;
        sum.bytes += count.bytes;
        sum.amount += count.amount;
      }
    }
    for (auto& [name, count] : by_name) into.counts.push_back(std::move(count));
  }

 private:
  std::array<std::array<ActionCount, kOperations>, kKinds> counts_;
  ActionCount* current_ = nullptr;
  std::uint64_t actions_ = 0;
};

// Reads all ranks once. When one cannot be read, only what is wrong with lines is reported.
class Pass {
 public:
  Pass(const TraceSet& set, const Communicators& communicators, const Progress& progress)
      : set_(set),
        communicators_(communicators),
        progress_(progress),
        calls_(RankWalk::shared_calls(set)),
        bytes_(std::max(static_cast<double>(set.bytes()), 1.0)),
        messages_(set, communicators, progress),
        collectives_(set, communicators, progress),
        balance_(set.ranks()) {}

  // What to do about a comm_split or comm_dup.
  enum class Makings : std::uint8_t { stop, known, ignored };

  // Nothing when it has stopped.
  std::optional<CheckReport> run(Makings makings) {
    for (std::int32_t rank = 0; rank < set_.ranks(); ++rank) {
      try {
        if (!read(rank, makings)) return std::nullopt;
      } catch (const TraceError& error) {
        if (error.line == 0) throw;
        unreadable_.add({Severity::error, rank, error.file, error.line, error.message});
      }
    }
    CheckReport report;
    counter_.report(report);
    if (unreadable_.errors() > 0) {
      report.findings = std::move(unreadable_);
      return report;
    }
    warn();
    messages_.report(findings_);
    collectives_.report(findings_);
    // What does not match has been said; a rank that waits for it is no other mistake.
    if (findings_.errors() == 0) find_deadlocks(set_, communicators_, progress_, findings_);
    ends_.report(set_, findings_);
    if (findings_.errors() + findings_.warnings() == 0) balance_.report(set_, findings_);
    report.findings = std::move(findings_);
    return report;
  }

 private:
  bool read(std::int32_t rank, Makings makings) {
    RankWalk walk(set_, communicators_, rank, nullptr, RankWalk::kUsualBatch, calls_);
    MessageReader reader;
    Requests requests(rank, set_.dialect() == Dialect::legacy);
    ProgramEnd end(rank);
    std::vector<TraceMessage> messages;
    for (std::uint64_t count = 1; walk.next(); ++count) {
      if (count % kOpsBetweenReports == 0) tell_read(walk);
      const Kind kind = walk.op().kind;
      if (makes_communicator(kind) && makings == Makings::stop) return false;
      messages.clear();
      reader.read(walk, messages);
      counter_.take(walk);
      end.take(walk, findings_);
      balance_.take(rank, walk.op());
      for (const TraceMessage& message : messages) {
        counter_.take(message);
        balance_.take(rank, message);
        if (unreadable_.errors() == 0) messages_.add(message);  // else nobody will ask
      }
      requests.take(walk, findings_);
      check_communicator(walk, rank);
      collectives_.take(walk, rank, findings_);
    }
    tell_read(walk);
    bytes_before_ += walk.reader().bytes_read();
    requests.finish(walk, findings_);
    ends_.take(end);
    messages_.end_rank();
    collectives_.end_rank(rank);
    if (walk.reader().uses_lost_type()) lost_types_.push_back(rank);
    if (walk.reader().uses_mistaken_null()) mistaken_nulls_.push_back(rank);
    return true;
  }

  void tell_read(const RankWalk& walk) const {
    tell(progress_, static_cast<double>(bytes_before_ + walk.reader().bytes_read()) / bytes_);
  }

  void check_communicator(const RankWalk& walk, std::int32_t rank) {
    const Op& op = walk.op();
    if (walk.group().group != kNoGroup) return;
    findings_.add(
        {Severity::error, rank, walk.reader().file(), op.line,
         "uses the communicator " + std::to_string(op.comm) + ", which this rank is not in"});
  }

  void warn() {
    const auto say = [&](const std::vector<std::int32_t>& ranks, const char* what) {
      if (ranks.empty()) return;
      const std::string others =
          ranks.size() > 1 ? "; so have " + std::to_string(ranks.size() - 1) + " more ranks" : "";
      findings_.add({Severity::warning, ranks.front(), set_.file(ranks.front()), 0, what + others});
    };
    say(lost_types_, "has messages of type -1, whose size the tracer lost; they count as empty");
    say(mistaken_nulls_, "has receives from -333, which is taken for MPI_ANY_SOURCE");
  }

  const TraceSet& set_;
  const Communicators& communicators_;
  const Progress& progress_;
  std::shared_ptr<CallTable> calls_;  // of all ranks, if they share one
  double bytes_;                      // of all ranks
  std::uint64_t bytes_before_ = 0;    // of the ranks that have been read
  MessageLedger messages_;
  CollectiveOrder collectives_;
  ProgramEnds ends_;
  Balance balance_;
  Counter counter_;
  Findings findings_;
  Findings unreadable_;
  std::vector<std::int32_t> lost_types_;
  std::vector<std::int32_t> mistaken_nulls_;
};

}  // namespace

CheckReport check(const TraceSet& set, const Progress& progress) {
  // Few traces make communicators, and only for those is it worth to read all of them twice.
  const Communicators world(set.ranks());
  if (std::optional<CheckReport> report = Pass(set, world, progress).run(Pass::Makings::stop)) {
    return std::move(*report);
  }
  try {
    const Communicators all = Communicators::of(set, part_of(progress, 0.0, 0.5));
    return Pass(set, all, part_of(progress, 0.5, 1.0)).run(Pass::Makings::known).value();
  } catch (const TraceError& error) {
    if (error.line == 0) throw;
  }
  return Pass(set, world, progress).run(Pass::Makings::ignored).value();
}

}  // namespace tisim
