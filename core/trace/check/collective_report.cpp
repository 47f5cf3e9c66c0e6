// What CollectiveOrder says about the calls that differ: the trace is read again to say where.
#include <algorithm>
#include <string>

#include "trace/check/collective_order.hpp"

namespace tisim {

namespace {

// Calls of more ranks than this are not compared pair by pair.
constexpr std::int32_t kMostCompared = 2048;

// The collectives of one rank on one communicator.
class CollectiveWalk {
 public:
  CollectiveWalk(const TraceSet& set, const Communicators& communicators, const Progress& progress,
                 std::uint32_t group, std::int32_t rank)
      : walk_(set, communicators, rank, &progress),
        group_(group),
        size_(communicators.size(group)) {}

  bool next() {
    while (walk_.next()) {
      if (walk_.group().group == group_ && is_collective(walk_.op().kind)) return true;
    }
    return false;
  }
  bool go_to(std::uint64_t number) {
    while (next()) {
      if (walk_.collective_number() == number) return true;
    }
    return false;
  }
  const RankWalk& at() const { return walk_; }
  CollectiveCall decoded() const { return CollectiveCall(walk_.call(), size_); }
  CollectiveSignature signature() const { return signature_of(walk_, decoded()); }
  std::string place() const {
    return walk_.reader().file() + ":" + std::to_string(walk_.op().line);
  }

 private:
  RankWalk walk_;
  std::uint32_t group_;
  std::int64_t size_;
};

std::string numbered(std::int32_t rank, const CollectiveWalk& walk) {
  return "rank " + std::to_string(rank) + " (" + walk.place() + ")";
}

// What one rank sends to another in a call, and what it expects of it; in bytes, -1: nothing said.
struct Transfers {
  Operation operation;
  std::int32_t rank;
  std::int64_t root;
  std::int64_t send_bytes;
  std::int64_t receive_bytes;
  std::vector<double> sent;
  std::vector<double> expected;
  std::string file;
  std::uint32_t line;

  std::int64_t to(std::int32_t other) const {
    if (operation == Operation::gatherv) return other == root ? send_bytes : -1;
    return sent.empty() ? -1 : static_cast<std::int64_t>(sent[static_cast<std::size_t>(other)]);
  }
  std::int64_t from(std::int32_t other) const {
    if (operation == Operation::scatterv) return other == root ? receive_bytes : -1;
    return expected.empty() ? -1
                            : static_cast<std::int64_t>(expected[static_cast<std::size_t>(other)]);
  }
};

Transfers transfers_of(const CollectiveWalk& walk) {
  const CollectiveCall call = walk.decoded();
  Transfers transfers{walk.at().call().operation,
                      walk.at().group().rank,
                      call.root,
                      call.send_bytes(),
                      call.receive_bytes(),
                      {},
                      {},
                      walk.at().reader().file(),
                      walk.at().op().line};
  const bool vectors_count =
      transfers.operation == Operation::alltoallv || transfers.rank == transfers.root;
  if (!call.fits || !vectors_count) return transfers;
  for (const double count : call.send_counts) {
    transfers.sent.push_back(count * static_cast<double>(call.send_width));
  }
  for (const double count : call.receive_counts) {
    transfers.expected.push_back(count * static_cast<double>(call.receive_width));
  }
  return transfers;
}

}  // namespace

void CollectiveOrder::report(Findings& findings) {
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    const Group& all = groups_[group];
    if (all.has_first && all.seen < communicators_->size(group)) report_absent(group, findings);
  }
  for (const Difference& difference : differences_) report_difference(difference, findings);
  if (!differences_.empty()) return;  // what is compared further are calls of the same number
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].seen == communicators_->size(group)) report_balances(group, findings);
  }
}

// The ranks of a group that call no collective at all.
void CollectiveOrder::report_absent(std::uint32_t group, Findings& findings) {
  const std::int32_t first = groups_[group].first_rank;
  CollectiveWalk called(*set_, *communicators_, *progress_, group, first);
  called.next();
  for (std::int32_t i = 0; i < communicators_->size(group) && !findings.full(); ++i) {
    const std::int32_t rank = communicators_->world_rank(group, i);
    CollectiveWalk walk(*set_, *communicators_, *progress_, group, rank);
    if (walk.next()) continue;
    findings.add({Severity::error, rank, walk.at().reader().file(), 0,
                  "calls no collective where " + numbered(first, called) + " calls " +
                      name_of(called.signature())});
  }
}

// The first call of a rank that is not that of the first rank.
void CollectiveOrder::report_difference(const Difference& difference, Findings& findings) {
  if (findings.full()) {
    findings.add({});
    return;
  }
  const std::int32_t first = groups_[difference.group].first_rank;
  CollectiveWalk mine(*set_, *communicators_, *progress_, difference.group, difference.rank);
  CollectiveWalk other(*set_, *communicators_, *progress_, difference.group, first);
  const std::string file = set_->file(difference.rank);
  for (;;) {
    const bool more = mine.next();
    const bool other_more = other.next();
    if (!more && !other_more) return;
    if (!more) {
      findings.add({Severity::error, difference.rank, file, 0,
                    "calls no further collective where " + numbered(first, other) + " calls " +
                        name_of(other.signature())});
      return;
    }
    const std::uint64_t line = mine.at().op().line;
    if (!other_more) {
      findings.add({Severity::error, difference.rank, file, line,
                    "calls " + name_of(mine.signature()) + " where rank " + std::to_string(first) +
                        " calls no further collective"});
      return;
    }
    if (mine.signature() != other.signature()) {
      findings.add({Severity::error, difference.rank, file, line,
                    told_apart(mine.signature(), other.signature(), numbered(first, other))});
      return;
    }
  }
}

// Of each window the first call in which a rank is not sent what it expects.
void CollectiveOrder::report_balances(std::uint32_t group, Findings& findings) {
  const std::vector<std::uint64_t>& balance = groups_[group].balance;
  std::vector<std::uint64_t> wrong;  // the windows that are looked into
  std::size_t others = 0;            // there is no room for what would be said
  for (std::size_t window = 0; window < balance.size(); ++window) {
    if (balance[window] == 0) continue;
    if (findings.kept().size() + wrong.size() < Findings::kMostKept) {
      wrong.push_back(window);
    } else {
      ++others;
    }
  }
  if (!wrong.empty()) {
    for (const std::uint64_t number : unbalanced_calls(group, wrong)) {
      report_transfers(group, number, findings);
    }
  }
  for (; others > 0; --others) findings.add({});
}

// Reads all ranks once for all windows.
std::vector<std::uint64_t> CollectiveOrder::unbalanced_calls(
    std::uint32_t group, std::span<const std::uint64_t> windows) {
  std::vector<std::uint64_t> balance(windows.size() * kWindow, 0);
  for (std::int32_t i = 0; i < communicators_->size(group); ++i) {
    CollectiveWalk walk(*set_, *communicators_, *progress_, group,
                        communicators_->world_rank(group, i));
    auto at = windows.begin();
    while (walk.next()) {
      const std::uint64_t number = walk.at().collective_number();
      while (at != windows.end() && *at < number / kWindow) ++at;
      if (at == windows.end()) break;
      if (*at > number / kWindow) continue;
      const auto row = static_cast<std::size_t>(at - windows.begin());
      balance[row * kWindow + number % kWindow] += balance_of(walk.at(), walk.decoded());
    }
  }
  std::vector<std::uint64_t> calls;
  for (std::size_t row = 0; row < windows.size(); ++row) {
    // The sum over a window is not 0, so that of some call is not.
    std::uint64_t number = 0;
    while (balance[row * kWindow + number] == 0) ++number;
    calls.push_back(windows[row] * kWindow + number);
  }
  return calls;
}

void CollectiveOrder::report_transfers(std::uint32_t group, std::uint64_t number,
                                       Findings& findings) {
  const std::int32_t size = communicators_->size(group);
  std::vector<Transfers> calls;
  for (std::int32_t i = 0; i < (size <= kMostCompared ? size : 1); ++i) {
    CollectiveWalk walk(*set_, *communicators_, *progress_, group,
                        communicators_->world_rank(group, i));
    walk.go_to(number);
    calls.push_back(transfers_of(walk));
  }
  for (const Transfers& receiver : calls) {
    for (const Transfers& sender : calls) {
      const std::int64_t sent = sender.to(receiver.rank);
      const std::int64_t expected = receiver.from(sender.rank);
      if (sent < 0 || expected < 0 || sent == expected) continue;
      const std::int32_t from = communicators_->world_rank(group, sender.rank);
      findings.add({Severity::error, communicators_->world_rank(group, receiver.rank),
                    receiver.file, receiver.line,
                    "expects " + std::to_string(expected) + " bytes of rank " +
                        std::to_string(from) + ", which sends " + std::to_string(sent) + " (" +
                        sender.file + ":" + std::to_string(sender.line) + ")"});
      return;
    }
  }
  findings.add({Severity::error, communicators_->world_rank(group, 0), calls.front().file,
                calls.front().line, "some rank does not expect what it is sent in this call"});
}

}  // namespace tisim
