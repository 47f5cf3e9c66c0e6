#include "trace/check/collective_order.hpp"

#include <algorithm>

namespace tisim {

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
  } else if (const auto slip = own_contradiction(walk, call)) {
    say(*slip);
  }
  const RankCall made{group, hash_of(signature_of(walk, call)), balance_of(walk, call)};
  RankCalls& calls = of_rank_[group];
  calls.window.add(made.signature);
  add_balance(group, calls.count, made.balance);
  if (++calls.count % kWindow == 0) close_window(group, rank, calls);
  return made;
}

// Each call of a window has a weight of its own.
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
  RankCalls& all = of_rank_[group];
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].balance == 0) continue;
    for (std::uint64_t time = 0; time < times; ++time) {
      add_balance(group, all.count + time * calls.size() + i, calls[i].balance);
    }
  }
  std::vector<std::uint64_t> signatures;
  for (const RankCall& call : calls) signatures.push_back(call.signature);
  const std::span<const std::uint64_t> once(signatures);
  std::size_t at = 0;  // the next one of `once`
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

// Compares a window with that of the first rank, which is the first to get here.
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
