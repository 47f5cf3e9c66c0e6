// Which arguments of an action are ranks.
#pragma once

#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// Bit i for its argument i; 0 of no action. Roots are not among them: they are the same on all
// ranks.
unsigned rank_arguments(const Action* action);

}  // namespace tisim
