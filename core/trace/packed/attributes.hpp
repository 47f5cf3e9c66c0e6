// The attributes of calls in a packed trace: call sites, counters, matched sources and others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/packed/file.hpp"
#include "trace/tit/file/attributes.hpp"

namespace tisim {

// Name of the attribute with the location of a call in the program.
constexpr std::string_view kCallSiteAttribute = "call_site";

// The opened section `attributes` of a file. Immutable.
class PackedAttributes {
 public:
  // `values_offset`: file offset of the values. Throws TraceError and FormatError.
  PackedAttributes(tit::AttributeTables tables, std::uint64_t values_offset,
                   std::uint64_t values_size);

  const tit::AttributeTables& tables() const { return tables_; }
  const PackedFile::Site& site(std::uint32_t number) const { return sites_[number]; }
  ColumnLocation column_of(std::int32_t rank) const {
    return find_column(tables_.columns, offsets_, rank);
  }
  // The number of the attribute with a name.
  std::optional<std::uint32_t> number_of(std::string_view name) const;

 private:
  tit::AttributeTables tables_;
  std::vector<PackedFile::Site> sites_;
  std::vector<std::uint64_t> offsets_;  // of each of tables_.columns, in the file
};

}  // namespace tisim
