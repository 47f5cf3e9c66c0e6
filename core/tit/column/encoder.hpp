// Codes the values of a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tit/column/site_model.hpp"

namespace tisim {
namespace tit {

// Keeps the values until finish(): the coder works from the last to the first.
class ColumnEncoder {
 public:
  // Values come with the number of their model.
  explicit ColumnEncoder(std::vector<SiteModel> models);

  // The model must have a bin for the value.
  void add(std::uint32_t model, std::uint64_t value) {
    if (tables_[model].bins.empty()) make_table(model);
    values_.push_back({value, model});
  }
  // How many values were added since finish().
  std::size_t size() const { return values_.size(); }

  // The stream of the values that were added; then it begins anew.
  std::string finish();

 private:
  // A bin as it is coded.
  struct CodedBin {
    std::uint64_t low;
    std::uint16_t width;
    std::uint16_t frequency;
    std::uint32_t first_number;  // of its slots among those of all bins
  };
  // What coding with a model needs. The bins of values that lie close together are in a table.
  struct CodingTable {
    std::vector<CodedBin> bins;
    std::vector<std::uint16_t> slots;   // of all bins, each one's in the order of their numbers
    std::vector<std::uint16_t> bin_of;  // of the values from the lowest bin on; may be empty
    bool is_small = false;              // bin_of is there, and no bin is wider than kOffsetBits
  };
  struct Value {
    std::uint64_t value;
    std::uint32_t model;
  };

  void make_table(std::uint32_t model);
  void make_room(std::uint64_t& state, std::uint32_t frequency, unsigned width);
  void encode(std::uint64_t& state, const Value& value);
  static std::uint64_t pushed(std::uint64_t state, std::uint64_t bits, unsigned width,
                              const CodedBin& bin, const CodingTable& table);
  bool encode_all(std::uint64_t first_state, std::uint64_t states[]);

  std::vector<SiteModel> models_;
  std::vector<CodingTable> tables_;  // filled when the first value of a model is coded
  std::vector<Value> values_;
  // What the coder gives away while it works.
  std::vector<std::uint32_t> words_;
  std::size_t words_used_ = 0;
};

}  // namespace tit
}  // namespace tisim
