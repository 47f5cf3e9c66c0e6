// Each topic of the bindings registers itself in the module `tisim._core`.
#pragma once

#include <nanobind/nanobind.h>

namespace tisim {

void register_errors(nanobind::module_& m);
void register_vocabulary(nanobind::module_& m);
void register_trace(nanobind::module_& m);
void register_packed(nanobind::module_& m);
void register_check(nanobind::module_& m);
void register_inspection(nanobind::module_& m);
void register_calls(nanobind::module_& m);
void register_zones(nanobind::module_& m);
void register_platform(nanobind::module_& m);
void register_model(nanobind::module_& m);
void register_timeline(nanobind::module_& m);
void register_spans(nanobind::module_& m);
void register_run_file(nanobind::module_& m);
void register_goal(nanobind::module_& m);
void register_graph(nanobind::module_& m);

void register_simulation(nanobind::module_& m);

}  // namespace tisim
