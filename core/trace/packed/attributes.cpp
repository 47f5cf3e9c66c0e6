#include "trace/packed/attributes.hpp"

#include <utility>

namespace tisim {

PackedAttributes::PackedAttributes(tit::AttributeTables tables, std::uint64_t values_offset,
                                   std::uint64_t values_size)
    : tables_(std::move(tables)),
      sites_(sites_of(tables_)),
      offsets_(column_offsets(tables_.columns, values_offset, values_size)) {}

std::optional<std::uint32_t> PackedAttributes::number_of(std::string_view name) const {
  for (std::uint32_t i = 0; i < tables_.attributes.size(); ++i) {
    if (tables_.attributes[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace tisim
