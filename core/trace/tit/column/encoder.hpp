// Codes the values of a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/tit/column/site_model.hpp"

namespace tisim {
namespace tit {

// Codes values with the models of their sites, from the last one to the first.
class ColumnEncoder {
 public:
  // The number of the model of a site whose values are not coded.
  static constexpr std::uint32_t kNoModel = 0xffffffffU;

  // `model_of`: the number of the model of each site.
  ColumnEncoder(std::vector<SiteModel> models, const std::vector<std::uint32_t>& model_of);
  // Each model has a site.
  explicit ColumnEncoder(std::vector<SiteModel> models);
  // It refers to its own tables.
  ColumnEncoder(const ColumnEncoder&) = delete;
  ColumnEncoder& operator=(const ColumnEncoder&) = delete;

  // Whether the values of a site are coded.
  bool is_coded(std::uint32_t site) const { return table_of_[site] != nullptr; }
  // The stream of `size` values and their sites; `coded` of them have a model, which must have bins
  // for them.
  std::string encode(const std::uint64_t* values, const std::uint32_t* sites, std::size_t size,
                     std::size_t coded);

  // Values one by one, each of a site with a model; and the stream of those that were added since
  // finish().
  void add(std::uint32_t site, std::uint64_t value) {
    values_.push_back(value);
    sites_.push_back(site);
  }
  std::string finish();

 private:
  // A bin as it is coded.
  struct CodedBin {
    std::uint64_t low;
    std::uint64_t reciprocal;    // (2^64 - 1) / frequency
    std::uint32_t first_number;  // of its slots among those of all bins
    std::uint16_t width;
    std::uint16_t frequency;
  };
  // What coding with a model needs. The bins of values that lie close together are in a table.
  struct CodingTable {
    std::vector<CodedBin> bins;
    std::vector<std::uint16_t> slots;   // of all bins, each one's in the order of their numbers
    std::vector<std::uint16_t> bin_of;  // of the values from the lowest one on; may be empty
    std::uint64_t lowest = 0;
    const SiteModel* model = nullptr;
  };
  // Values that are to be coded, from the last one.
  struct Rest {
    const std::uint64_t* values;
    const std::uint32_t* sites;
    std::size_t size;
  };

  static CodingTable table_of(const SiteModel& model);
  static std::uint64_t encoded(std::uint64_t state, const CodingTable& table, std::uint64_t value,
                               std::uint32_t*& words);
  static std::uint64_t encoded_large(std::uint64_t state, const CodingTable& table,
                                     std::uint64_t value, std::uint32_t** words);
  std::uint32_t* encode_all(Rest rest, std::uint64_t first_state, std::uint64_t states[]) const;

  std::vector<SiteModel> models_;
  std::vector<CodingTable> tables_;           // of the models
  std::vector<const CodingTable*> table_of_;  // of each site; nullptr: it is not coded
  std::vector<std::uint64_t> values_;
  std::vector<std::uint32_t> sites_;
  // What the coder gives away while it works, from the end down.
  std::unique_ptr<std::uint32_t[]> words_;
  std::size_t words_size_ = 0;
};

}  // namespace tit
}  // namespace tisim
