// Actions of a trace: their kinds, constants, and the numpy layout of operations.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cctype>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bindings.hpp"
#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/datatype.hpp"
#include "trace/vocabulary/op.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

// Arguments of numpy.dtype() for an Op: names, formats, offsets and row size.
nb::dict op_layout() {
  nb::list names;
  nb::list formats;
  nb::list offsets;
  const auto field = [&](const char* name, const char* format, std::size_t offset) {
    names.append(name);
    formats.append(format);
    offsets.append(offset);
  };
  field("kind", "u1", offsetof(Op, kind));
  field("flags", "u1", offsetof(Op, flags));
  field("comm", "u2", offsetof(Op, comm));
  field("peer", "i4", offsetof(Op, peer));
  field("amount", "f8", offsetof(Op, amount));
  field("bytes", "i8", offsetof(Op, bytes));
  field("call", "i8", offsetof(Op, call));
  field("tag", "i4", offsetof(Op, tag));
  field("line", "u4", offsetof(Op, line));
  nb::dict layout;
  layout["names"] = names;
  layout["formats"] = formats;
  layout["offsets"] = offsets;
  layout["itemsize"] = sizeof(Op);
  return layout;
}

std::string upper_case(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

void register_kinds(nb::module_& m) {
  nb::enum_<Kind> kinds(m, "Kind", nb::is_arithmetic(), "Kind of an operation.");
#define TISIM_VALUE(kind, ...) kinds.value(upper_case(#kind).c_str(), Kind::kind);
  TISIM_KINDS(TISIM_VALUE)
#undef TISIM_VALUE

  nb::enum_<Role> roles(m, "Role", nb::is_arithmetic(),
                        "Role shared by several kinds of operations.");
#define TISIM_VALUE(role) roles.value(upper_case(#role).c_str(), Role::role);
  TISIM_ROLES(TISIM_VALUE)
#undef TISIM_VALUE
  nb::enum_<SendMode> modes(m, "SendMode", nb::is_arithmetic(), "Completion mode of a send.");
#define TISIM_VALUE(mode) modes.value(upper_case(#mode).c_str(), SendMode::mode);
  TISIM_SEND_MODES(TISIM_VALUE)
#undef TISIM_VALUE
  nb::class_<KindTraits>(m, "KindTraits", "Entry of a kind in the table of operations.")
      .def_ro("role", &KindTraits::role)
      .def_ro("mode", &KindTraits::mode)
      .def_ro("receives", &KindTraits::receives)
      .def_ro("makes_request", &KindTraits::makes_request)
      .def_ro("blocks", &KindTraits::blocks);
  m.def(
      "traits_of", [](Kind kind) { return traits_of(kind); }, "kind"_a);

  nb::enum_<Operation> operations(m, "Operation", nb::is_arithmetic(), "The operation of a call.");
#define TISIM_VALUE(name, ...) operations.value(upper_case(#name).c_str(), Operation::name);
  TISIM_COLLECTIVES(TISIM_VALUE)
  TISIM_FILE_CALLS(TISIM_VALUE)
  TISIM_WINDOW_CALLS(TISIM_VALUE)
#undef TISIM_VALUE
  operations.value("COMM_SPLIT", Operation::comm_split)
      .value("COMM_DUP", Operation::comm_dup)
      .value("COMM_IDUP", Operation::comm_idup)
      .value("COMM_GROUP", Operation::comm_group)
      .value("COMM_FREE", Operation::comm_free)
      .value("CUSTOM", Operation::custom);
}

}  // namespace

void register_vocabulary(nb::module_& m) {
  register_kinds(m);
  m.attr("OP_LAYOUT") = op_layout();
  m.attr("ANY_SOURCE") = kAnySource;
  m.attr("ANY_TAG") = kAnyTag;
  m.attr("PROC_NULL") = kProcNull;
  m.attr("CONTINUATION") = kContinuation;
  m.attr("NULL_IS_MISTAKEN") = kNullIsMistaken;
  m.attr("SOURCE_LOST") = kSourceLost;
  m.def("type_width", [](std::int64_t id) -> std::optional<int> {
    const std::uint8_t width = type_width(id);
    return width == kNoType ? std::nullopt : std::optional<int>(width);
  });

  m.def("action_effects", [] {
    nb::dict effects;
    for (const Action& action : known_actions()) {
      effects[nb::str(action.name.data(), action.name.size())] = action.effect;
    }
    return effects;
  });

  m.def("known_actions", [] {
    nb::list actions;
    for (const Action& action : known_actions()) {
      actions.append(nb::make_tuple(action.name, action.usage));
    }
    return actions;
  });

  nb::class_<Call>(m, "Call", "Arguments of a collective, communicator or custom action.")
      .def_ro("operation", &Call::operation)
      .def_ro("comm", &Call::comm)
      .def_ro("double_default", &Call::double_default)
      .def_ro("arguments", &Call::arguments)
      .def_ro("words", &Call::words);
}

}  // namespace tisim
