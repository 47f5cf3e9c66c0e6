// Grammars of sequences that come again.
#include "trace/tit/grammar/known_grammars.hpp"

#include "core/test.hpp"

namespace tisim {
namespace tit {

namespace {

using Symbols = std::vector<std::uint32_t>;

Grammar encoded(const Symbols& sequence) {
  SequenceEncoder encoder;
  for (const std::uint32_t terminal : sequence) encoder.add(terminal);
  return encoder.take();
}

}  // namespace

TEST("known grammars: are those of an encoder, however many sequences came before") {
  KnownGrammars grammars;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t length = 0; length < 50; ++length) {
      Symbols sequence;
      for (std::uint32_t i = 0; i < length; ++i) sequence.push_back(i % 3);
      CHECK(grammars.of(sequence) == encoded(sequence));
    }
  }
}

TEST("known grammars: sequences that differ in one terminal have their own") {
  KnownGrammars grammars;
  const Symbols loop = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  Symbols other = loop;
  other.back() = 1;
  CHECK(grammars.of(loop).expanded() == loop);
  CHECK(grammars.of(other).expanded() == other);
  CHECK(grammars.of(loop).expanded() == loop);
}

}  // namespace tit
}  // namespace tisim
