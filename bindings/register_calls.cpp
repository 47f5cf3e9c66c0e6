// Collective calls: the decoder of the core, for schedules.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings.hpp"
#include "checks.hpp"
#include "decoded_call.hpp"
#include "trace/error.hpp"
#include "trace/vocabulary/collective_call.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

Kind kind_of(bool blocking) { return blocking ? Kind::collective : Kind::icollective; }

DecodedCall decode_call(const std::string& word, std::vector<double> arguments, std::int64_t size,
                        bool double_default) {
  if (size < 1) throw std::invalid_argument("a communicator has one rank or more");
  Call call;
  call.double_default = double_default;
  call.arguments = std::move(arguments);
  bool blocking = true;
  for (const CollectiveTraits& collective : kCollectiveTraits) {
    if (collective.non_blocking_name == word) blocking = false;
  }
  call.operation = collective_named(blocking ? word : word.substr(1));
  return {call, blocking, size, "", 0};
}

}  // namespace

DecodedCall::DecodedCall(const Call& call, bool is_blocking, std::int64_t ranks,
                         const std::string& file, std::uint64_t line)
    : operation(traits_of(call.operation).name), blocking(is_blocking), size(ranks) {
  const CollectiveCall decoded(call, ranks);
  if (!decoded.fits) {
    throw TraceError(file, line, explain_misfit(call, kind_of(blocking), ranks));
  }
  root = decoded.root;
  send_count = decoded.send_count;
  receive_count = decoded.receive_count;
  send_counts.assign(decoded.send_counts.begin(), decoded.send_counts.end());
  receive_counts.assign(decoded.receive_counts.begin(), decoded.receive_counts.end());
  send_width = decoded.send_width;
  receive_width = decoded.receive_width;
  destinations.assign(decoded.destinations.begin(), decoded.destinations.end());
  sources.assign(decoded.sources.begin(), decoded.sources.end());
  flops = decoded.flops;
}

Operation collective_named(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kCollectives; ++i) {
    if (kCollectiveTraits[i].name == name) return static_cast<Operation>(i);
    known.append(known.empty() ? "" : ", ").append(kCollectiveTraits[i].name);
  }
  const std::string near = Vocabulary({}).nearest(name);
  raise_input_error("there is no collective '" + std::string(name) + "'; " +
                    (near.empty() ? "known ones are " + known : "did you mean " + near + "?"));
}

void register_calls(nb::module_& m) {
  nb::class_<DecodedCall>(
      m, "CollectiveCall",
      "A decoded collective call. Fields that the collective lacks are 0 or empty.")
      .def_ro("operation", &DecodedCall::operation,
              "Name in traces, without the `i` of non-blocking calls.")
      .def_ro("blocking", &DecodedCall::blocking)
      .def_ro("size", &DecodedCall::size, "Number of ranks of the communicator.")
      .def_ro("root", &DecodedCall::root, "Rank of the root in the communicator.")
      .def_ro("send_count", &DecodedCall::send_count,
              "Number of elements sent; the count if there is only one.")
      .def_ro("receive_count", &DecodedCall::receive_count, "Number of elements received.")
      .def_ro("send_counts", &DecodedCall::send_counts, "Number of elements sent, by rank.")
      .def_ro("receive_counts", &DecodedCall::receive_counts,
              "Number of elements received, by rank.")
      .def_ro("destinations", &DecodedCall::destinations,
              "Ranks that a neighbourhood collective sends to (-666: MPI_PROC_NULL); its counts "
              "are by these.")
      .def_ro("sources", &DecodedCall::sources,
              "Ranks that a neighbourhood collective receives from.")
      .def_ro("send_width", &DecodedCall::send_width,
              "Bytes per element sent; the width if there is only one type.")
      .def_ro("receive_width", &DecodedCall::receive_width, "Bytes per element received.")
      .def_ro("flops", &DecodedCall::flops, "Computation of a `reducescatter`, in flops.");

  m.def("decode_call", &decode_call, "operation"_a, "arguments"_a, "size"_a,
        "double_default"_a = false,
        "Decodes a call of `size` ranks from its name in a trace and the numbers that follow, "
        "without the flops of reduce, allreduce, scan and exscan. Raises tisim.InputError.");
}

}  // namespace tisim
