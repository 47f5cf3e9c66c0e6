#include "trace/check/files/open_files.hpp"

#include <string>

#include "support/mixing.hpp"

namespace tisim {

void OpenFiles::take(const RankWalk& walk, Findings& findings) {
  const Op& op = walk.op();
  // The part of a rank in a call that synchronises has been looked at with its call.
  if (op.kind != Kind::file || (op.flags & kContinuation) != 0) return;
  const Operation call = file_call_of(op);
  if (!has_handle(call)) return;
  Handle& handle = handles_[op.peer];
  const std::string fault = handle.fault(call, op.peer);
  if (!fault.empty()) {
    findings.add({Severity::error, rank_, walk.reader().file(), op.line, fault});
  }
  const Operation does = own_part_of(call);
  if (begins_split(call) || ends_split(call)) handle.step(call, op.line);
  if (does == Operation::open) handle.open(walk.call().words[1], op.line);
  if (does == Operation::close && handle.is_open) handle.close(op.line);
}

std::uint64_t OpenFiles::signature(const LoopLines& lines) const {
  std::uint64_t hash = handles_.size();
  for (const auto& [number, handle] : handles_) {
    hash = mixed(hash, static_cast<std::uint64_t>(number));
    hash = mixed(hash, lines.relative(handle.opened));
    hash = mixed(hash, lines.relative(handle.closed));
    hash = mixed(hash, static_cast<std::uint64_t>(handle.begun));
    if (handle.begun != Operation::barrier) hash = mixed(hash, lines.relative(handle.begun_at));
    hash = mixed(hash, (handle.is_open ? 8U : 0U) + (handle.reads ? 4U : 0U) +
                           (handle.writes ? 2U : 0U) + (handle.appends ? 1U : 0U));
  }
  return hash;
}

void OpenFiles::skip(const SkippedLines& skipped) {
  for (auto& [number, handle] : handles_) {
    handle.opened = skipped.moved(handle.opened);
    handle.begun_at = skipped.moved(handle.begun_at);
    handle.closed = skipped.moved(handle.closed);
  }
}

}  // namespace tisim
