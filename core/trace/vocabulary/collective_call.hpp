// The arguments of a collective call by meaning: the only place that decodes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/table.hpp"

namespace tisim {

// Meaning of an argument of a collective's line.
enum class ArgumentRole : std::uint8_t { count, flops, root, type, displacement, neighbour };

// Position of a count among the arguments: after `numbers` single numbers and `vectors` vectors
// with a number for each rank.
struct CountPosition {
  std::int8_t numbers = -1;  // -1: no such count
  std::int8_t vectors = 0;

  constexpr bool exists() const { return numbers >= 0; }
  // `displaced`: each vector is followed by displacements.
  constexpr std::size_t index(std::int64_t size, bool displaced) const {
    return static_cast<std::size_t>(numbers + (displaced ? 2 : 1) * vectors * size);
  }
};

// The arguments of a collective according to its usage in the table: counts (single ones and
// vectors), flops if it has them, then optionally a root, types and displacements: after each
// vector of counts for alltoallv, at the end for allgatherv. Neighbours precede all of these.
struct CollectiveGrammar {
  std::int8_t numbers = 0;  // single counts
  std::int8_t vectors = 0;
  std::int8_t flops = 0;
  std::int8_t roots = 0;
  std::int8_t types = 0;
  bool displacements = false;
  bool displacements_of_each = false;
  bool neighbours = false;  // vectors are as long as the lists of neighbours
  CountPosition send_count = {};
  CountPosition receive_count = {};
  CountPosition send_counts = {};
  CountPosition receive_counts = {};
};

const CollectiveGrammar& grammar_of(Operation collective);

// The arguments of a collective over `size` ranks.
class CollectiveLayout {
 public:
  // size 0: unknown. Then only collectives without vectors have roles, and neighbourhood
  // collectives have none, since their arguments give the number of neighbours.
  CollectiveLayout(Operation collective, std::int64_t size);
  CollectiveLayout(const Call& call, std::int64_t size);

  bool has_roles() const { return has_roles_; }
  bool has_flops() const { return flops_ > 0; }
  bool accepts(std::int64_t arguments) const;
  // True if that many arguments include displacements after each vector of counts.
  bool has_displacements_of_each(std::int64_t arguments) const;
  // Role of the argument at `index` out of `arguments`.
  ArgumentRole role(std::int64_t index, std::int64_t arguments) const;
  // Numbers of ranks that the rank sends to and receives from.
  std::int64_t destinations() const { return destinations_; }
  std::int64_t sources() const { return sources_; }

 private:
  std::int64_t neighbours_ = 0;  // arguments that list the neighbours
  std::int64_t destinations_ = 0;
  std::int64_t sources_ = 0;
  std::int64_t counts_;
  std::int64_t flops_;
  std::int64_t roots_;
  std::int64_t types_;
  std::int64_t displacements_;
  std::int64_t displacements_of_each_;  // in total
  std::int64_t vector_;
  bool has_roles_;
};

// A call over a known number of ranks. Counts are in elements of one rank's part: whole numbers up
// to 2^53. Fields that the collective does not have are 0 or empty.
struct CollectiveCall {
  // Decodes `call`, which must outlive it. If `fits` is false, the other fields are meaningless,
  // and explain_misfit() gives the reason. Operations that are not collectives never fit.
  CollectiveCall(const Call& call, std::int64_t size);

  std::int64_t send_bytes() const { return send_count * send_width; }
  std::int64_t receive_bytes() const { return receive_count * receive_width; }
  // Bytes sent to the neighbour at that index of its list, and received from one.
  std::int64_t bytes_to(std::size_t destination) const;
  std::int64_t bytes_from(std::size_t source) const;
  // Bytes sent to all neighbours, and received from all.
  std::int64_t bytes_to_neighbours() const;
  std::int64_t bytes_from_neighbours() const;

  bool fits = false;
  Operation operation;
  std::int64_t root = 0;
  std::int64_t send_count = 0;  // or the only count
  std::int64_t receive_count = 0;
  std::int64_t send_width = 0;  // bytes of an element, of the only type if there is one
  std::int64_t receive_width = 0;
  std::span<const double> send_counts;  // by rank, or by neighbour
  std::span<const double> receive_counts;
  std::span<const double> destinations;  // the neighbours: ranks or kProcNull
  std::span<const double> sources;
  double flops = 0;  // of reducescatter; those of other reductions are separate operations
};

// The error of a call that does not fit a communicator of `size` ranks, and what would fit. `kind`:
// collective or icollective.
std::string explain_misfit(const Call& call, Kind kind, std::int64_t size);

bool is_rooted(Operation operation);

}  // namespace tisim
