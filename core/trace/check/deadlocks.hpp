// Deadlocks that every order of events reaches.
#pragma once

#include "support/progress.hpp"
#include "trace/check/finding.hpp"
#include "trace/walk/communicators.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

// Adds an error for each cycle of ranks that wait for one another. Requires an otherwise sound
// trace: messages and collectives match. Throws TraceError.
void find_deadlocks(const TraceSet& set, const Communicators& communicators, Loops loops,
                    const Progress& progress, Findings& findings);

}  // namespace tisim
