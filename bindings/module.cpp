// The module `tisim._core`: a table of contents.
#include "bindings.hpp"
#include "simulation/simulation.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of tisim; use it through the Python packages above it.";
  m.attr("VERIFIES") = tisim::kVerifies;  // checks all invariants after every instant
  tisim::register_errors(m);
  tisim::register_vocabulary(m);
  tisim::register_trace(m);
  tisim::register_packed(m);
  tisim::register_check(m);
  tisim::register_inspection(m);
  tisim::register_calls(m);
  tisim::register_zones(m);
  tisim::register_platform(m);
  tisim::register_model(m);
  tisim::register_timeline(m);
  tisim::register_graph(m);
  tisim::register_goal(m);
  tisim::register_simulation(m);
}
