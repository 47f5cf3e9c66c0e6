#include "trace/check/action_counter.hpp"

#include <map>
#include <string>
#include <utility>

namespace tisim {

ActionCounter::Share ActionCounter::take(const RankWalk& walk,
                                         const std::vector<TraceMessage>& messages) {
  const Op& op = walk.op();
  Share share;
  // What a line says beside its first operation counts for that.
  if ((op.flags & kContinuation) == 0) {
    current_ =
        &counts_[static_cast<std::size_t>(op.kind)][static_cast<std::size_t>(walk.operation())];
    share.is_action = true;
  }
  share.count = current_;
  if (op.kind == Kind::compute || op.kind == Kind::sleep) share.amount = op.amount;
  for (const TraceMessage& message : messages) {
    if (message.is_receive) continue;
    ++share.messages;
    share.bytes += static_cast<std::uint64_t>(message.bytes);
  }
  repeat(share, 1);
  return share;
}

void ActionCounter::repeat(const Share& share, std::uint64_t times) {
  if (share.is_action) {
    share.count->actions += times;
    actions_ += times;
  }
  share.count->amount += static_cast<double>(times) * share.amount;
  share.count->messages += times * share.messages;
  share.count->bytes += times * share.bytes;
}

void ActionCounter::report(CheckReport& into) const {
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

}  // namespace tisim
