#include "trace/check/collective_arguments.hpp"

#include "trace/vocabulary/collective_layout.hpp"
#include "trace/vocabulary/datatype.hpp"

namespace tisim {

namespace {

// Call::arguments lack the flops of all operations but reducescatter.
bool lacks_flops(Operation operation) {
  return operation == Operation::reduce || operation == Operation::allreduce ||
         operation == Operation::scan || operation == Operation::exscan;
}

}  // namespace

bool is_rooted(Operation operation) {
  switch (operation) {
    case Operation::bcast:
    case Operation::reduce:
    case Operation::gather:
    case Operation::gatherv:
    case Operation::scatter:
    case Operation::scatterv:
      return true;
    default:
      return false;
  }
}

CollectiveArguments::CollectiveArguments(const Call& call, std::int64_t size) {
  const CollectiveLayout layout(call.operation, size);
  const std::span<const double> arguments(call.arguments);
  const auto written = static_cast<std::int64_t>(arguments.size());
  const std::int64_t in_line = written + (lacks_flops(call.operation) ? 1 : 0);
  valid = layout.accepts(in_line);
  if (!valid) return;
  std::int64_t widths[2];
  std::int64_t types = 0;
  std::size_t taken = 0;
  for (std::int64_t i = 0; i < in_line; ++i) {
    const ArgumentRole role = layout.role(i, in_line);
    if (role == ArgumentRole::flops && lacks_flops(call.operation)) continue;
    const double value = arguments[taken++];
    if (role == ArgumentRole::root) root = static_cast<std::int64_t>(value);
    if (role == ArgumentRole::type && types < 2) {
      widths[types++] = type_width(static_cast<std::int64_t>(value));
    }
  }
  const std::int64_t usual = call.double_default ? kDoubleWidth : kByteWidth;
  send_width = types > 0 ? widths[0] : usual;
  receive_width = types > 1 ? widths[1] : usual;
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(arguments[i]); };
  const auto ranks = static_cast<std::size_t>(size);
  switch (call.operation) {
    case Operation::alltoallv:
      send_counts = arguments.subspan(1, ranks);
      receive_counts = arguments.subspan(2 + ranks, ranks);
      break;
    case Operation::gatherv:
    case Operation::allgatherv:
      send_bytes = count(0) * send_width;
      receive_counts = arguments.subspan(1, ranks);
      break;
    case Operation::scatterv:
      send_counts = arguments.first(ranks);
      receive_bytes = count(ranks) * receive_width;
      break;
    case Operation::reducescatter:
      receive_counts = arguments.first(ranks);
      receive_width = send_width;
      break;
    case Operation::alltoall:
    case Operation::allgather:
    case Operation::gather:
    case Operation::scatter:
      send_bytes = count(0) * send_width;
      receive_bytes = count(1) * receive_width;
      break;
    default:
      if (!arguments.empty()) send_bytes = count(0) * send_width;
  }
}

}  // namespace tisim
