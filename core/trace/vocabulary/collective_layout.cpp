#include "trace/vocabulary/collective_layout.hpp"

#include <algorithm>

namespace tisim {

CollectiveLayout::CollectiveLayout(Operation operation, std::int64_t size) {
  const std::int64_t vector = std::max<std::int64_t>(size, 1);
  bool has_vector = false;
  const auto lay_out = [this](std::int64_t counts, std::int64_t flops, std::int64_t roots,
                              std::int64_t types) {
    counts_ = counts;
    flops_ = flops;
    roots_ = roots;
    types_ = types;
  };
  switch (operation) {
    case Operation::bcast:
      lay_out(1, 0, 1, 1);
      break;
    case Operation::reduce:
      lay_out(1, 1, 1, 1);
      break;
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exscan:
      lay_out(1, 1, 0, 1);
      break;
    case Operation::alltoall:
    case Operation::allgather:
      lay_out(2, 0, 0, 2);
      break;
    case Operation::gather:
    case Operation::scatter:
      lay_out(2, 0, 1, 2);
      break;
    case Operation::alltoallv:
      lay_out(2 + 2 * vector, 0, 0, 2);
      has_vector = true;
      break;
    case Operation::gatherv:
    case Operation::scatterv:
      lay_out(1 + vector, 0, 1, 2);
      has_vector = true;
      break;
    case Operation::allgatherv:
      lay_out(1 + vector, 0, 0, 2);
      displacements_ = vector;
      has_vector = true;
      break;
    case Operation::reducescatter:
      lay_out(vector, 1, 0, 1);
      has_vector = true;
      break;
    case Operation::barrier:
    case Operation::comm_split:
    case Operation::comm_dup:
    case Operation::comm_free:
    case Operation::custom:
      break;
  }
  has_roles_ = size > 0 || !has_vector;
}

bool CollectiveLayout::accepts(std::int64_t arguments) const {
  const std::int64_t least = counts_ + flops_;
  if (!has_roles_) return arguments >= least;
  const std::int64_t most = least + roots_ + types_;
  if (arguments >= least && arguments <= most) return true;
  return displacements_ > 0 &&
         (arguments == least + displacements_ || arguments == most + displacements_);
}

ArgumentRole CollectiveLayout::role(std::int64_t index, std::int64_t arguments) const {
  if (index < counts_) return ArgumentRole::count;
  index -= counts_;
  arguments -= counts_;
  if (index < flops_) return ArgumentRole::flops;
  index -= flops_;
  arguments -= flops_;
  if (index < roots_) return ArgumentRole::root;
  index -= roots_;
  arguments -= roots_;
  // Displacements may come with types before them, or alone.
  const std::int64_t types = arguments <= types_ ? arguments : arguments - displacements_;
  return index < types ? ArgumentRole::type : ArgumentRole::displacement;
}

}  // namespace tisim
