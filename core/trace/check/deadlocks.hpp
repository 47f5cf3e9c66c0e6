// Deadlocks that every order of events reaches.
#pragma once

#include "support/progress.hpp"
#include "trace/check/finding.hpp"
#include "trace/walk/communicators.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Adds an error for each circle of ranks that wait for one another. To be asked of a trace in which
// nothing else is wrong: messages match, and so do collectives. Throws TraceError.
void find_deadlocks(const TraceSet& set, const Communicators& communicators, Loops loops,
                    const Progress& progress, Findings& findings);

}  // namespace tisim
