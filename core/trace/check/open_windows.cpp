#include "trace/check/open_windows.hpp"

#include "support/mixing.hpp"

namespace tisim {

std::vector<std::int32_t> window_group_of(const RankWalk& walk) {
  std::vector<std::int32_t> group;
  if (window_traits_of(walk.operation()).form != WindowForm::group) return group;
  for (const double rank : walk.call().arguments) group.push_back(static_cast<std::int32_t>(rank));
  return group;
}

void OpenWindows::take(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  if (op.kind != Kind::window || (op.flags & kContinuation) != 0) return;
  if (walk.group().group == kNoGroup) return;
  Epochs& epochs = windows_[window_of(op)];
  const std::vector<std::int32_t> group = window_group_of(walk);
  const std::string error = epochs.error_of(op, group, walk.group().size);
  if (error.empty()) {
    epochs.take(op, group);
  } else {
    findings.add({Severity::error, rank_, walk.reader().file(), op.line, error});
  }
}

void OpenWindows::finish(const std::string& file, Findings& findings) const {
  for (const auto& [number, epochs] : windows_) {
    if (!epochs.is_open()) continue;
    findings.add({Severity::error, rank_, file, epochs.since,
                  "begins an epoch of window " + std::to_string(number) + " that never ends"});
  }
}

std::uint64_t OpenWindows::signature(const LoopLines& lines) const {
  std::uint64_t hash = windows_.size();
  const auto mix = [&hash](auto value) { hash = mixed(hash, static_cast<std::uint64_t>(value)); };
  for (const auto& [number, epochs] : windows_) {
    mix(number);
    mix(lines.relative(epochs.made));
    mix(lines.relative(epochs.freed));
    mix(lines.relative(epochs.since));
    mix((epochs.exists ? 1 : 0) + (epochs.fenced ? 2 : 0) + (epochs.accessed ? 4 : 0) +
        (epochs.started ? 8 : 0) + (epochs.posted ? 16 : 0) + (epochs.locked_all ? 32 : 0));
    for (const std::int32_t target : epochs.targets) mix(target);
    for (const std::int32_t origin : epochs.origins) mix(-1 - origin);
    for (const std::int32_t target : epochs.locks) mix(target);
  }
  return hash;
}

void OpenWindows::skip(const SkippedLines& skipped) {
  for (auto& [number, epochs] : windows_) {
    epochs.made = skipped.moved(epochs.made);
    epochs.freed = skipped.moved(epochs.freed);
    epochs.since = skipped.moved(epochs.since);
  }
}

}  // namespace tisim
