#include "platform/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace tisim {

namespace {

[[noreturn]] void refuse(const std::string& field, const std::string& why) {
  throw std::invalid_argument("the model's " + field + " " + why);
}

void check_number(const std::string& field, double value) {
  if (!(value >= 0 && value < std::numeric_limits<double>::infinity())) {
    refuse(field, "must be a finite non-negative number, not " + std::to_string(value));
  }
}

void check_boundaries(const std::string& field, const std::vector<double>& boundaries) {
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    check_number(field, boundaries[i]);
    if (i > 0 && boundaries[i] <= boundaries[i - 1]) refuse(field, "has rows out of order");
  }
}

void check_column(const std::string& field, const std::vector<double>& values, std::size_t rows) {
  if (values.size() != rows) refuse(field, "has columns that differ in length");
  for (const double value : values) check_number(field, value);
}

void check_field(const std::string& field, const StepTable& table) {
  check_boundaries(field, table.boundary);
  check_column(field, table.value, table.boundary.size());
  check_number(field, table.first);
}

void check_field(const std::string& field, const OverheadTable& table) {
  check_boundaries(field, table.boundary);
  check_column(field, table.base, table.boundary.size());
  check_column(field, table.per_byte, table.boundary.size());
}

void check_field(const std::string&, const std::string&) {}

void check_field(const std::string& field, const std::vector<Overheads>& kinds) {
  if (kinds.empty()) refuse(field, "must have a first kind, that of most hosts");
  for (const Overheads& kind : kinds) {
    check_field(field, kind.send);
    check_field(field, kind.isend);
    check_field(field, kind.receive);
  }
}

}  // namespace

void check(const Model& model) {
  for_each_field(model, [](const char* name, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, double>) {
      check_number(name, field);
    } else if constexpr (!std::is_arithmetic_v<Field>) {
      check_field(name, field);
    }
  });
  if (model.precision_timing == 0) refuse("precision_timing", "must be above zero");
  if (model.bandwidth_factor.first == 0) refuse("bandwidth_factor", "must be above zero");
  for (const double factor : model.bandwidth_factor.value) {
    if (factor == 0) refuse("bandwidth_factor", "must be above zero");
  }
  if (model.ordering != "fair" && model.ordering != "fifo") {
    refuse("ordering", "must be fair or fifo, not " + model.ordering);
  }
  if (model.rendezvous != "put" && model.rendezvous != "put-ack" && model.rendezvous != "get" &&
      model.rendezvous != "send") {
    refuse("rendezvous", "must be put, put-ack, get or send, not " + model.rendezvous);
  }
  constexpr std::array<std::string_view, 4> kKnown{"simgrid", "rdma", "openmpi", "mpich"};
  if (std::ranges::find(kKnown, model.rma) == kKnown.end()) {
    refuse("rma", "must be simgrid, rdma, openmpi or mpich, not " + model.rma);
  }
  if (model.fragment_bytes <= 0 || model.fragments_queued <= 0) {
    refuse("fragments", "must have at least one byte, and at least one must be queued");
  }
  if (model.send_buffer < 0) refuse("send_buffer", "must not be negative");
  if (model.jitter_size >= 1) refuse("jitter_size", "must be below 1");
  if (model.sieve_reads < 0) refuse("sieve_reads", "must not be negative");
  if (model.sieve_writes < 0) refuse("sieve_writes", "must not be negative");
  if (model.eager_threshold < 0 || model.eager_threshold > model.detached_threshold) {
    refuse("eager_threshold", "must not be negative or above detached_threshold");
  }
}

}  // namespace tisim
