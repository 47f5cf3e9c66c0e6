// Which argument of a collective's line is what.
#pragma once

#include <cstdint>

#include "trace/vocabulary/call.hpp"

namespace tisim {

enum class ArgumentRole : std::uint8_t { count, flops, root, type, displacement };

// The arguments of a collective over `size` ranks: `counts` numbers, then the flops when it has
// them, then perhaps a root, types, and displacements.
class CollectiveLayout {
 public:
  // size 0: not known. Then only the collectives without vectors have roles.
  CollectiveLayout(Operation operation, std::int64_t size);

  bool has_roles() const { return has_roles_; }
  bool has_flops() const { return flops_ > 0; }
  bool accepts(std::int64_t arguments) const;
  // Of the argument at `index` when there are `arguments`.
  ArgumentRole role(std::int64_t index, std::int64_t arguments) const;

 private:
  std::int64_t counts_ = 0;
  std::int64_t flops_ = 0;
  std::int64_t roots_ = 0;
  std::int64_t types_ = 0;
  std::int64_t displacements_ = 0;
  bool has_roles_ = true;
};

}  // namespace tisim
