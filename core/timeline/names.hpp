// The words by which timelines call kinds of actions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event_log/records.hpp"

namespace tisim {

// The place of an action's word in `kind_names`.
std::uint8_t name_of(const ActionStart& action);

// As in a trace, where `nop` stands for those that do nothing: init, finalize, location, comm_size.
const std::vector<std::string>& kind_names();

}  // namespace tisim
