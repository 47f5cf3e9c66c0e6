#include "trace/check/collective_order.hpp"

#include <algorithm>

namespace tisim {

void CollectiveOrder::take(const RankWalk& walk, std::int32_t rank, Findings& findings) {
  const std::uint32_t group = walk.group().group;
  if (group == kNoGroup || !is_collective(walk.op().kind)) return;
  const std::int64_t size = communicators_->size(group);
  const CollectiveCall call(walk.call(), size);
  const auto say = [&](std::string what) {
    findings.add({Severity::error, rank, walk.reader().file(), walk.op().line, std::move(what)});
  };
  if (has_collective_call(walk.op().kind) && !call.fits) {
    say(explain_misfit(walk.call(), walk.op().kind, size));
  } else if (const auto slip = own_contradiction(walk, call)) {
    say(*slip);
  }
  RankCalls& calls = of_rank_[group];
  calls.hash = mixed(calls.hash, hash_of(signature_of(walk, call)));
  if (const std::uint64_t balance = balance_of(walk, call)) {
    std::vector<std::uint64_t>& sums = groups_[group].balance;
    const auto window = static_cast<std::size_t>(calls.count / kWindow);
    if (sums.size() <= window) sums.resize(window + 1);
    sums[window] += balance;
  }
  if (++calls.count % kWindow == 0) close_window(group, rank, calls);
}

// Compares a window with that of the first rank, which is the first to get here.
void CollectiveOrder::close_window(std::uint32_t group, std::int32_t rank, RankCalls& calls) {
  Group& all = groups_[group];
  const std::uint64_t window = (calls.count - 1) / kWindow;
  if (!all.has_first || all.first_rank == rank) {
    all.has_first = true;
    all.first_rank = rank;
    all.windows.push_back(calls.hash);
  } else if (!calls.differs &&
             (window >= all.windows.size() || all.windows[window] != calls.hash)) {
    calls.differs = true;
    calls.differs_in = window;
  }
  calls.hash = 0;
}

void CollectiveOrder::end_rank(std::int32_t rank) {
  for (auto& [group, calls] : of_rank_) {
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
  of_rank_.clear();
}

}  // namespace tisim
