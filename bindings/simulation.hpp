// The parts of the class `Simulation`, each bound in its own file.
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

// Returns the action name of a collective or a communicator creation. Throws std::invalid_argument
// if the operation is neither.
std::string name_of(Operation operation, bool blocking);

// Five numbers per span: stream, node, arrival, start, end.
nanobind::ndarray<nanobind::numpy, double, nanobind::ndim<1>> span_rows(const GraphRun& run);

}  // namespace tisim
