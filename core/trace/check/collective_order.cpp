#include "trace/check/collective_order.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>

namespace tisim {

namespace {

std::uint64_t mixed_three(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return mixed(mixed(a + 1, b + 1), c + 1);
}

// Hash of count vectors that must be equal on all ranks.
std::int64_t hash_of_counts(std::span<const double> counts, std::int64_t width) {
  std::uint64_t hash = static_cast<std::uint64_t>(width);
  for (const double count : counts) hash = mixed(hash, static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(hash >> 1);
}

}  // namespace

std::string name_of(const CollectiveSignature& signature) {
  return std::string(name_of(signature.kind, signature.operation));
}

CollectiveSignature signature_of(const RankWalk& walk, const CollectiveCall& call) {
  CollectiveSignature signature;
  signature.kind = walk.op().kind;
  signature.operation = walk.call().operation;
  if (is_rooted(signature.operation)) signature.root = call.root;
  const bool is_root = call.root == walk.group().rank;
  switch (signature.operation) {
    case Operation::bcast:
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
    case Operation::alltoall:
    case Operation::allgather:
      signature.bytes = call.send_bytes();
      break;
    case Operation::gather:
      signature.bytes = is_root ? call.receive_bytes() : call.send_bytes();
      break;
    case Operation::scatter:
      signature.bytes = is_root ? call.send_bytes() : call.receive_bytes();
      break;
    case Operation::reducescatter:
    case Operation::allgatherv:
      signature.bytes = hash_of_counts(call.receive_counts, call.receive_width);
      break;
    default:
      break;
  }
  return signature;
}

std::uint64_t hash_of(const CollectiveSignature& signature) {
  const auto what = static_cast<std::uint64_t>(signature.kind) * 64 +
                    static_cast<std::uint64_t>(signature.operation);
  return mixed_three(what, static_cast<std::uint64_t>(signature.root),
                     static_cast<std::uint64_t>(signature.bytes));
}

namespace {

// The n-th message from one rank to another has its own weight.
std::uint64_t neighbours_balance(std::uint64_t me, const CollectiveCall& call) {
  std::uint64_t balance = 0;
  std::map<double, std::uint64_t> sent;
  std::map<double, std::uint64_t> expected;
  for (std::size_t i = 0; i < call.destinations.size(); ++i) {
    const double to = call.destinations[i];
    if (to == kProcNull) continue;
    balance += mixed_three(me, static_cast<std::uint64_t>(to), sent[to]++) *
               (static_cast<std::uint64_t>(call.bytes_to(i)) + 1);
  }
  for (std::size_t i = 0; i < call.sources.size(); ++i) {
    const double from = call.sources[i];
    if (from == kProcNull) continue;
    balance -= mixed_three(static_cast<std::uint64_t>(from), me, expected[from]++) *
               (static_cast<std::uint64_t>(call.bytes_from(i)) + 1);
  }
  return balance;
}

}  // namespace

std::uint64_t balance_of(const RankWalk& walk, const CollectiveCall& call) {
  const auto me = static_cast<std::uint64_t>(walk.group().rank);
  if (is_among_neighbours(walk.call().operation)) {
    return neighbours_balance(me, call);
  }
  const auto weight = [](std::uint64_t from, std::uint64_t to) { return mixed_three(from, to, 0); };
  const auto root = static_cast<std::uint64_t>(call.root);
  const auto sent = static_cast<std::uint64_t>(call.send_width);
  const auto expected = static_cast<std::uint64_t>(call.receive_width);
  std::uint64_t balance = 0;
  if (walk.call().operation == Operation::gatherv) {
    balance += weight(me, root) * static_cast<std::uint64_t>(call.send_bytes());
    if (me != root) return balance;
  } else if (walk.call().operation == Operation::scatterv) {
    balance -= weight(root, me) * static_cast<std::uint64_t>(call.receive_bytes());
    if (me != root) return balance;
  } else if (walk.call().operation != Operation::alltoallv) {
    return 0;
  }
  for (std::size_t i = 0; i < call.send_counts.size(); ++i) {
    balance += weight(me, i) * (static_cast<std::uint64_t>(call.send_counts[i]) * sent);
  }
  for (std::size_t i = 0; i < call.receive_counts.size(); ++i) {
    balance -= weight(i, me) * (static_cast<std::uint64_t>(call.receive_counts[i]) * expected);
  }
  return balance;
}

std::optional<std::string> self_mismatch(const RankWalk& walk, const CollectiveCall& call) {
  std::int64_t expected = call.receive_bytes();
  switch (walk.call().operation) {
    case Operation::alltoall:
    case Operation::allgather:
      break;
    case Operation::allgatherv: {
      const auto me = static_cast<std::size_t>(walk.group().rank);
      expected = static_cast<std::int64_t>(call.receive_counts[me]) * call.receive_width;
      break;
    }
    default:
      return std::nullopt;
  }
  if (call.send_bytes() == expected) return std::nullopt;
  return "sends " + std::to_string(call.send_bytes()) + " bytes but expects " +
         std::to_string(expected) + " from a rank that makes the same call";
}

std::string describe_difference(const CollectiveSignature& mine, const CollectiveSignature& other,
                                const std::string& whose) {
  if (mine.operation != other.operation || mine.kind != other.kind) {
    return "calls " + name_of(mine) + " where " + whose + " calls " + name_of(other);
  }
  if (mine.root != other.root) {
    return name_of(mine) + " has the root " + std::to_string(mine.root) + ", and the root " +
           std::to_string(other.root) + " where " + whose + " calls it";
  }
  if (mine.operation == Operation::reducescatter || mine.operation == Operation::allgatherv) {
    return name_of(mine) + " has counts different from those where " + whose + " calls it";
  }
  return name_of(mine) + " is of " + std::to_string(mine.bytes) + " bytes, and of " +
         std::to_string(other.bytes) + " where " + whose + " calls it";
}

std::optional<CollectiveOrder::RankCall> CollectiveOrder::take(const RankWalk& walk,
                                                               std::int32_t rank,
                                                               Findings& findings) {
  const std::uint32_t group = walk.group().group;
  if (group == kNoGroup || !is_collective(walk.op().kind)) return std::nullopt;
  const std::int64_t size = communicators_->size(group);
  const CollectiveCall call(walk.call(), size);
  const auto say = [&](std::string what) {
    findings.add({Severity::error, rank, walk.reader().file(), walk.op().line, std::move(what)});
  };
  if (has_collective_call(walk.op().kind) && !call.fits) {
    say(explain_misfit(walk.call(), walk.op().kind, size));
  } else if (const auto slip = self_mismatch(walk, call)) {
    say(*slip);
  }
  const RankCall made{group, hash_of(signature_of(walk, call)), balance_of(walk, call)};
  RankCalls& calls = rank_calls_[group];
  calls.window.add(made.signature);
  add_balance(group, calls.count, made.balance);
  if (++calls.count % kWindow == 0) close_window(group, rank, calls);
  return made;
}

// Each call of a window has its own weight.
void CollectiveOrder::add_balance(std::uint32_t group, std::uint64_t number,
                                  std::uint64_t balance) {
  if (balance == 0) return;
  std::vector<std::uint64_t>& sums = groups_[group].balance;
  const auto window = static_cast<std::size_t>(number / kWindow);
  if (sums.size() <= window) sums.resize(window + 1);
  sums[window] += (mixed(number, 2) | 1) * balance;
}

void CollectiveOrder::repeat(std::int32_t rank, std::span<const RankCall> calls,
                             std::uint64_t times) {
  std::vector<RankCall> sorted(calls.begin(), calls.end());
  std::ranges::stable_sort(sorted, {}, &RankCall::group);
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    while (last < sorted.size() && sorted[last].group == sorted[first].group) ++last;
    repeat_in_group(rank, std::span(sorted).subspan(first, last - first), times);
    first = last;
  }
}

void CollectiveOrder::repeat_in_group(std::int32_t rank, std::span<const RankCall> calls,
                                      std::uint64_t times) {
  const std::uint32_t group = calls.front().group;
  RankCalls& all = rank_calls_[group];
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].balance == 0) continue;
    for (std::uint64_t time = 0; time < times; ++time) {
      add_balance(group, all.count + time * calls.size() + i, calls[i].balance);
    }
  }
  std::vector<std::uint64_t> signatures;
  for (const RankCall& call : calls) signatures.push_back(call.signature);
  const std::span<const std::uint64_t> once(signatures);
  std::size_t at = 0;  // next index in `once`
  for (std::uint64_t left = times * once.size(); left > 0;) {
    const std::uint64_t room = kWindow - all.count % kWindow;
    std::uint64_t taken = 0;
    if (at == 0 && std::min(room, left) >= once.size()) {
      const std::uint64_t whole = std::min(room, left) / once.size();
      all.window.add_repeated(once, whole);
      taken = whole * once.size();
    } else {
      taken = std::min({room, left, std::uint64_t{once.size() - at}});
      all.window.add_repeated(once.subspan(at, static_cast<std::size_t>(taken)), 1);
      at = (at + static_cast<std::size_t>(taken)) % once.size();
    }
    all.count += taken;
    left -= taken;
    if (all.count % kWindow == 0) close_window(group, rank, all);
  }
}

// Compares a window with that of the first rank, which always closes it first.
void CollectiveOrder::close_window(std::uint32_t group, std::int32_t rank, RankCalls& calls) {
  Group& all = groups_[group];
  const std::uint64_t window = (calls.count - 1) / kWindow;
  if (!all.has_first || all.first_rank == rank) {
    all.has_first = true;
    all.first_rank = rank;
    all.windows.push_back(calls.window);
  } else if (!calls.differs &&
             (window >= all.windows.size() || all.windows[window] != calls.window)) {
    calls.differs = true;
    calls.differs_in = window;
  }
  calls.window = {};
}

void CollectiveOrder::end_rank(std::int32_t rank) {
  for (auto& [group, calls] : rank_calls_) {
    Group& all = groups_[group];
    ++all.seen;
    if (calls.count % kWindow != 0) close_window(group, rank, calls);
    if (all.first_rank == rank) {
      all.first_count = calls.count;
    } else if (calls.differs) {
      differences_.push_back({group, rank, calls.differs_in});
    } else if (calls.count != all.first_count) {
      differences_.push_back({group, rank, std::min(calls.count, all.first_count) / kWindow});
    }
  }
  rank_calls_.clear();
}

// CollectiveOrder's report on calls that differ: reads the trace again to locate them.

namespace {

// Maximum number of ranks whose calls are compared pairwise.
constexpr std::int32_t kMaxCompared = 2048;

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
  std::string location() const {
    return walk_.reader().file() + ":" + std::to_string(walk_.op().line);
  }

 private:
  RankWalk walk_;
  std::uint32_t group_;
  std::int64_t size_;
};

std::string numbered(std::int32_t rank, const CollectiveWalk& walk) {
  return "rank " + std::to_string(rank) + " (" + walk.location() + ")";
}

// Bytes that one rank sends to other ranks in a call, and expects from them; -1: unspecified.
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
  if (call.fits && is_among_neighbours(call.operation)) {
    const auto ranks = static_cast<std::size_t>(walk.at().group().size);
    transfers.sent.resize(ranks);
    transfers.expected.resize(ranks);
    for (std::size_t i = 0; i < call.destinations.size(); ++i) {
      if (call.destinations[i] == kProcNull) continue;
      transfers.sent[static_cast<std::size_t>(call.destinations[i])] +=
          static_cast<double>(call.bytes_to(i));
    }
    for (std::size_t i = 0; i < call.sources.size(); ++i) {
      if (call.sources[i] == kProcNull) continue;
      transfers.expected[static_cast<std::size_t>(call.sources[i])] +=
          static_cast<double>(call.bytes_from(i));
    }
    return transfers;
  }
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
  if (!differences_.empty()) return;  // the checks below compare calls of the same number
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    if (groups_[group].seen == communicators_->size(group)) report_balances(group, findings);
  }
}

// Reports the ranks of a group that call no collective at all.
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

// Reports the first call of a rank that differs from the first rank's call.
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
      findings.add(
          {Severity::error, difference.rank, file, line,
           describe_difference(mine.signature(), other.signature(), numbered(first, other))});
      return;
    }
  }
}

// Reports, for each window, the first call in which a rank does not receive what it expects.
void CollectiveOrder::report_balances(std::uint32_t group, Findings& findings) {
  const std::vector<std::uint64_t>& balance = groups_[group].balance;
  std::vector<std::uint64_t> wrong;  // windows to examine
  std::size_t others = 0;            // further ones, which exceed the limit on findings
  for (std::size_t window = 0; window < balance.size(); ++window) {
    if (balance[window] == 0) continue;
    if (findings.kept().size() + wrong.size() < Findings::kMaxKept) {
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
    // The sum over a window is not 0, so at least one call has a nonzero balance.
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
  for (std::int32_t i = 0; i < (size <= kMaxCompared ? size : 1); ++i) {
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
                calls.front().line,
                "some rank expects sizes other than those sent to it in this call"});
}

}  // namespace tisim
