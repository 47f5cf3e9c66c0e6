// What the files that bind a simulation share.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "simulation/simulation.hpp"

namespace tisim {

// The word of a collective's line, or of one that makes a communicator.
std::string name_of(Operation operation, bool blocking);

void define_report(nanobind::class_<Simulation>& simulation);

}  // namespace tisim
