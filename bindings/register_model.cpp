// Parameters of the models, passed once by Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bindings.hpp"
#include "platform/model.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// Reads each field from the keyword of the same name; the core has no defaults.
void make_model(Model* self, const nb::kwargs& values) {
  Model model;
  std::size_t known = 0;
  for_each_field(model, [&](const char* name, auto& field) {
    if (!values.contains(name)) {
      throw nb::type_error((std::string("Model needs the keyword ") + name).c_str());
    }
    ++known;
    if (!nb::try_cast(values[name], field)) {
      throw nb::type_error((std::string("Model has no field ") + name + " of that type").c_str());
    }
  });
  if (values.size() != known)
    throw nb::type_error("Model has a keyword that is none of its fields");
  check(model);
  new (self) Model(std::move(model));
}

nb::object model_field(const Model& self, const std::string& wanted) {
  nb::object value;
  for_each_field(self, [&](const char* name, const auto& field) {
    if (wanted == name) value = nb::cast(field);
  });
  if (!value.is_valid()) throw nb::attribute_error(wanted.c_str());
  return value;
}

nb::tuple model_fields() {
  nb::list names;
  Model model;
  for_each_field(model, [&](const char* name, auto&) { names.append(name); });
  return nb::tuple(names);
}

}  // namespace

void register_model(nb::module_& m) {
  nb::class_<StepTable>(m, "StepTable", "A factor as a step function of the message size.")
      .def("__init__",
           [](StepTable* self, double first, std::vector<double> boundary,
              std::vector<double> value) {
             new (self) StepTable{first, std::move(boundary), std::move(value)};
           })
      .def("at", &StepTable::at);

  nb::class_<OverheadTable>(m, "OverheadTable", "Overhead of a call in seconds, by message size.")
      .def("__init__",
           [](OverheadTable* self, std::vector<double> boundary, std::vector<double> base,
              std::vector<double> per_byte) {
             new (self) OverheadTable{std::move(boundary), std::move(base), std::move(per_byte)};
           })
      .def("at", &OverheadTable::at);

  nb::class_<Overheads>(m, "Overheads", "Overheads of send, isend and receive calls on a host.")
      .def("__init__", [](Overheads* self, const OverheadTable& send, const OverheadTable& isend,
                          const OverheadTable& receive) {
        new (self) Overheads{send, isend, receive};
      });

  nb::class_<Model>(
      m, "Model",
      "Parameters of the network, CPU and protocol models: one keyword argument per field.")
      .def("__init__", &make_model, nb::sig("def __init__(self, **kwargs: object) -> None"))
      .def("__getattr__", &model_field)
      .def_static("fields", &model_fields, nb::sig("def fields() -> tuple[str, ...]"),
                  "Returns the names of all fields.");
}

}  // namespace tisim
