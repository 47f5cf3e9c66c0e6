// Which argument of a collective's line is what.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/vocabulary/table.hpp"

namespace tisim {

enum class ArgumentRole : std::uint8_t { count, flops, root, type, displacement };

// Where a count stands among the arguments: behind so many numbers and so many vectors with a
// number for each rank.
struct CountPlace {
  std::int8_t numbers = -1;  // -1: there is no such count
  std::int8_t vectors = 0;

  constexpr bool exists() const { return numbers >= 0; }
  constexpr std::size_t index(std::int64_t size) const {
    return static_cast<std::size_t>(numbers + vectors * size);
  }
};

// The arguments of a collective as its usage in the table says: counts, single ones and vectors,
// then the flops when it has them, then perhaps a root, types, and displacements.
struct CollectiveGrammar {
  std::int8_t numbers = 0;  // counts that are single numbers
  std::int8_t vectors = 0;
  std::int8_t flops = 0;
  std::int8_t roots = 0;
  std::int8_t types = 0;
  bool displacements = false;
  CountPlace send_count = {};
  CountPlace receive_count = {};
  CountPlace send_counts = {};
  CountPlace receive_counts = {};
};

const CollectiveGrammar& grammar_of(Operation collective);

// The arguments of a collective over `size` ranks.
class CollectiveLayout {
 public:
  // size 0: not known. Then only the collectives without vectors have roles.
  CollectiveLayout(Operation collective, std::int64_t size);

  bool has_roles() const { return has_roles_; }
  bool has_flops() const { return flops_ > 0; }
  bool accepts(std::int64_t arguments) const;
  // Of the argument at `index` when there are `arguments`.
  ArgumentRole role(std::int64_t index, std::int64_t arguments) const;

 private:
  std::int64_t counts_;
  std::int64_t flops_;
  std::int64_t roots_;
  std::int64_t types_;
  std::int64_t displacements_;
  bool has_roles_;
};

}  // namespace tisim
