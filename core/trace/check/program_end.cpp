#include "trace/check/program_end.hpp"

#include <string>

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
                name + " comes after the finalize in line " + std::to_string(finalize_line_) +
                    (is_local ? "; are these two traces in one file?"
                              : ", when no rank communicates any more; move finalize behind it, or "
                                "are these two traces in one file?")});
}

void ProgramEnds::report(const TraceSet& set, Findings& findings) const {
  if (open_.empty() || !any_finalized_) return;
  const ProgramEnd& first = open_.front();
  const std::size_t others = open_.size() - 1;
  findings.add({Severity::warning, first.rank(), set.file(first.rank()), first.last_line(),
                "is the last action, and there is no finalize after the init, as there is on other "
                "ranks: add it, or trace the program again if it was cut" +
                    (others == 0 ? std::string()
                                 : "; so it is for " + std::to_string(others) +
                                       (others == 1 ? " more rank" : " more ranks"))});
}

}  // namespace tisim
