// The different volumes of a trace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/tit/writer/number_table.hpp"

namespace tisim {
namespace tit {

// Codes of volumes. Small ones, which nearly all are, stand in a bit map, which is found in the
// caches where a hash table is not; it takes at most as much memory as four words a volume.
class VolumeSet {
 public:
  // So many volumes will be added, different ones or not.
  explicit VolumeSet(std::size_t volumes) {
    constexpr std::uint64_t kMostMapped = std::uint64_t{1} << 24;
    constexpr std::uint64_t kBitsOfMap = 256;
    mapped_ = std::min(kMostMapped, (std::uint64_t{volumes} + 1) * kBitsOfMap);
  }

  void add(std::uint64_t code) { add_place(code + 1); }
  // A code plus 1, or 0 for none. Without a branch: which of them it is is often as good as random.
  void add_place(std::uint64_t next) {
    const std::uint64_t is_code = next != 0 ? 1 : 0;
    const std::uint64_t code = next - is_code;
    if (code >= mapped_) {
      others_.number(code);
      return;
    }
    const auto place = static_cast<std::size_t>(code / kWordBits);
    if (place >= words_.size()) words_.resize(place + 1, 0);
    const std::uint64_t word = words_[place];
    in_map_ += static_cast<std::size_t>(~(word >> (code % kWordBits)) & is_code);
    words_[place] = word | is_code << (code % kWordBits);
  }

  std::size_t size() const { return in_map_ + others_.size(); }

  // Numbers them in ascending order; nothing may be added then.
  void number() {
    std::uint32_t before = 0;
    before_.reserve(words_.size());
    for (const std::uint64_t word : words_) {
      before_.push_back(before);
      before += bits_in(word);
    }
    const std::vector<std::uint64_t>& codes = others_.keys();
    sorted_others_ = codes;
    std::sort(sorted_others_.begin(), sorted_others_.end());
    for (const std::uint64_t code : codes) {
      const auto found = std::lower_bound(sorted_others_.begin(), sorted_others_.end(), code);
      number_of_other_.push_back(before +
                                 static_cast<std::uint32_t>(found - sorted_others_.begin()));
    }
  }
  // Of one that was added.
  std::uint64_t number_of(std::uint64_t code) const {
    if (code >= mapped_) return number_of_other_[others_.known(code)];
    const auto place = static_cast<std::size_t>(code / kWordBits);
    const std::uint64_t below = (std::uint64_t{1} << (code % kWordBits)) - 1;
    return before_[place] + bits_in(words_[place] & below);
  }
  // 1 plus the number of a code, given 1 plus the code; 0 for 0.
  std::uint64_t place_of(std::uint64_t next) const {
    const std::uint64_t is_code = next != 0 ? 1 : 0;
    return (number_of(next - is_code) + 1) & (0 - is_code);
  }
  // All of them in the order of their numbers.
  std::vector<std::uint64_t> codes() const {
    std::vector<std::uint64_t> all;
    all.reserve(size());
    for (std::size_t place = 0; place < words_.size(); ++place) {
      std::uint64_t code = place * kWordBits;
      for (std::uint64_t word = words_[place]; word != 0; word >>= 1, ++code) {
        if ((word & 1) != 0) all.push_back(code);
      }
    }
    all.insert(all.end(), sorted_others_.begin(), sorted_others_.end());
    return all;
  }

 private:
  static constexpr std::size_t kWordBits = 64;

  // Not the compiler's, which calls a function where a processor may lack the instruction.
  static std::uint32_t bits_in(std::uint64_t word) {
    word -= (word >> 1) & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + ((word >> 2) & 0x3333333333333333U);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return static_cast<std::uint32_t>((word * 0x0101010101010101U) >> 56);
  }

  std::uint64_t mapped_;  // codes below are in the map
  std::vector<std::uint64_t> words_ = {0};
  std::size_t in_map_ = 0;
  std::vector<std::uint32_t> before_;  // codes in the words before each
  NumberTable others_;
  std::vector<std::uint64_t> sorted_others_;
  std::vector<std::uint32_t> number_of_other_;  // by first use
};

}  // namespace tit
}  // namespace tisim
