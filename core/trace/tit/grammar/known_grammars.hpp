// The grammars of sequences that have come before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"

namespace tisim {
namespace tit {

// Ranks of a class have equal sequences: only the first of them needs an encoder. Keeps the last
// sequence, and some before it while they are short.
class KnownGrammars {
 public:
  // What a SequenceEncoder makes of the sequence.
  Grammar of(const std::uint32_t* sequence, std::size_t size) {
    const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.sequence.size() == size &&
             std::equal(sequence, sequence + size, kept.sequence.data());
    });
    if (known != kept_.end()) return known->grammar;
    SequenceEncoder encoder;
    encoder.add_all(sequence, size);
    Kept made{{sequence, sequence + size}, encoder.take()};
    length_ += made.sequence.size();
    std::size_t dropped = 0;
    while (dropped < kept_.size() && (length_ > kMostKept || kept_.size() - dropped == kMost)) {
      length_ -= kept_[dropped++].sequence.size();
    }
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(dropped));
    kept_.push_back(std::move(made));
    return kept_.back().grammar;
  }

  Grammar of(const std::vector<std::uint32_t>& sequence) {
    return of(sequence.data(), sequence.size());
  }

 private:
  static constexpr std::size_t kMost = 32;                        // sequences
  static constexpr std::size_t kMostKept = std::size_t{1} << 20;  // terminals of all but the last

  struct Kept {
    std::vector<std::uint32_t> sequence;
    Grammar grammar;
  };
  std::vector<Kept> kept_;
  std::size_t length_ = 0;
};

}  // namespace tit
}  // namespace tisim
