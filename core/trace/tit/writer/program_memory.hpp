// What the structure of a rank's program is found with.
#pragma once

#include "trace/tit/grammar/known_grammars.hpp"
#include "trace/tit/writer/call_list.hpp"
#include "trace/tit/writer/volume_costs.hpp"

namespace tisim {
namespace tit {

// Ranks come one after the other: what they have in common is kept, and their memory is used again.
struct ProgramMemory {
  KnownGrammars grammars;
  CallList calls;
  VolumeTables volumes;
};

}  // namespace tit
}  // namespace tisim
