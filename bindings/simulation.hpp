// The parts of the class `Simulation`, each bound in a file of its own.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

#include "simulation/simulation.hpp"

namespace tisim {

using SimulationClass = nanobind::class_<Simulation>;

void register_schedules(nanobind::module_& m, SimulationClass& simulation);
void register_operations(nanobind::module_& m, SimulationClass& simulation);
void register_results(nanobind::module_& m, SimulationClass& simulation);
void register_report(nanobind::module_& m, SimulationClass& simulation);

// The word of a collective's line, or of one that makes a communicator. Throws
// std::invalid_argument when the operation is none of them.
std::string name_of(Operation operation, bool blocking);

// Five numbers a span: stream, node, arrival, start, end.
nanobind::ndarray<nanobind::numpy, double, nanobind::ndim<1>> span_rows(const GraphRun& run);

}  // namespace tisim
