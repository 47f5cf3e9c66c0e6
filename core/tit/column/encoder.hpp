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
  void add(std::uint32_t model, std::uint64_t value) { values_.push_back({value, model}); }
  // How many values were added since finish().
  std::size_t size() const { return values_.size(); }

  // The stream of the values that were added; then it begins anew.
  std::string finish();

 private:
  // Numbers of a bin from `first` on are the slots from `slot` on.
  struct Piece {
    std::uint16_t first;
    std::uint16_t slot;
  };
  // Where a model's bins have their slots.
  struct Slots {
    std::vector<Piece> pieces;               // in ascending order for each bin
    std::vector<std::uint32_t> first_piece;  // of each bin, and the end
  };
  struct Value {
    std::uint64_t value;
    std::uint32_t model;
  };

  const Slots& slots_of(std::uint32_t model);
  void encode(std::uint64_t& state, const Value& value, std::vector<std::uint32_t>& words);
  bool encode_all(std::uint64_t first_state, std::uint64_t states[2],
                  std::vector<std::uint32_t>& words);

  std::vector<SiteModel> models_;
  std::vector<Slots> slots_;  // filled when the first value of a model is coded
  std::vector<Value> values_;
};

}  // namespace tit
}  // namespace tisim
