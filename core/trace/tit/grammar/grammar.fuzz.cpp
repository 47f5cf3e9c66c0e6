// Reads arbitrary bytes as a grammar: it is refused or survives a round trip. Also encodes
// arbitrary bytes as a sequence of calls.
#include "trace/tit/grammar/grammar.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "trace/tit/grammar/sequence_encoder.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tisim::tit;
  const auto* begin = reinterpret_cast<const char*>(data);
  try {
    ByteReader in(begin, begin + size);
    Grammar grammar = Grammar::read(in, 1000);
    Bytes bytes;
    grammar.write(bytes);
    ByteReader again(bytes.data);
    require(Grammar::read(again, 1000).lengths() == grammar.lengths());
    require(grammar.depth() <= kMaxGrammarDepth);
    const std::uint64_t length = grammar.length();
    if (size < 1000) grammar.limit_depth(8);
    require(grammar.length() == length);
    if (length < 100'000) require(grammar.expanded().size() == length);
  } catch (const FormatError&) {
    // Input that is not a grammar is refused.
  }
  SequenceEncoder encoder;
  std::vector<std::uint32_t> sequence(data, data + size);
  for (const std::uint32_t terminal : sequence) encoder.add(terminal % 8);
  for (std::uint32_t& terminal : sequence) terminal %= 8;
  require(*encoder.verify() == '\0');
  require(encoder.take().expanded() == sequence);
  return 0;
}
