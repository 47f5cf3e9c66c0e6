// Translates errors of the core to Python.
#include <nanobind/stl/string.h>

#include <exception>

#include "bindings.hpp"
#include "file_parts.hpp"
#include "trace/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

void set_input_error(const TraceError& wrong) {
  const nb::object type = nb::module_::import_("tisim.errors").attr("InputError");
  const nb::object line = wrong.line == 0 ? nb::none() : nb::cast(wrong.line);
  const nb::object file = wrong.file.empty() ? nb::none() : decoded(wrong.file);
  const nb::object raised = type(decoded(wrong.message), "file"_a = file, "line"_a = line);
  PyErr_SetObject(type.ptr(), raised.ptr());
}

// Translates a TraceError to tisim.errors.InputError, or to KeyboardInterrupt if Ctrl-C arrives
// meanwhile: an exception thrown by a translator would become a RuntimeError.
void translate_trace_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const TraceError& wrong) {
    try {
      set_input_error(wrong);
    } catch (nb::python_error& interrupt) {
      interrupt.restore();
    }
  }
}

}  // namespace

void register_errors(nb::module_&) { nb::register_exception_translator(translate_trace_error); }

}  // namespace tisim
