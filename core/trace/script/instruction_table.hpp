// The instructions of a script that need not be written out again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/script/script.hpp"

namespace tisim {

class InstructionTable {
 public:
  enum class Place : std::uint8_t { known, added, full };
  struct Found {
    Place place;
    std::uint32_t number;  // of an instruction that is known or added
  };

  // `fields`: the bytes of an instruction.
  Found find_or_add(std::string_view fields) {
    key_.assign(fields);
    const auto known = numbers_.find(key_);
    if (known != numbers_.end()) return {Place::known, known->second};
    if (numbers_.size() >= kMostKeptInstructions || bytes_ + fields.size() > kMostKeptBytes) {
      return {Place::full, 0};
    }
    const auto number = static_cast<std::uint32_t>(numbers_.size());
    numbers_.emplace(key_, number);
    bytes_ += fields.size();
    return {Place::added, number};
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::string key_;
  std::size_t bytes_ = 0;
};

}  // namespace tisim
