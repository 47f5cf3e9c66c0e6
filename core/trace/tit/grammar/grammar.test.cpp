// Grammars as bytes, and what is refused.
#include "trace/tit/grammar/grammar.hpp"

#include <random>
#include <string>

#include "core/test.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"

namespace tisim::tit {

namespace {

std::string written(const Grammar& grammar) {
  Bytes bytes;
  grammar.write(bytes);
  return bytes.data;
}

Grammar read_back(const std::string& bytes, std::uint32_t terminals = 100) {
  ByteReader in(bytes);
  Grammar grammar = Grammar::read(in, terminals);
  if (!in.at_end()) throw FormatError("bytes are left");
  return grammar;
}

// The codes of grammar.cpp; an exponent is 1 if it is not given.
class Written {
 public:
  Written& end() { return code(0); }
  Written& next(std::uint64_t times = 1) { return code(1, times); }
  Written& new_rule(std::uint64_t times = 1) { return code(2, times); }
  Written& terminal(std::uint64_t number, std::uint64_t times = 1) {
    return code(3 + 2 * number, times);
  }
  Written& rule(std::uint64_t number, std::uint64_t times = 1) {
    return code(4 + 2 * number, times);
  }
  operator std::string() const { return bytes_.data; }

 private:
  Written& code(std::uint64_t kind, std::uint64_t times = 1) {
    bytes_.varint(2 * kind + (times > 1 ? 1 : 0));
    if (times > 1) bytes_.varint(times - 2);
    return *this;
  }

  Bytes bytes_;
};

}  // namespace

TEST("grammar: lengths, depth and expansion") {
  Grammar grammar;
  grammar.rules = {{Item::terminal(0), Item::rule(1, 3), Item::rule(2)},
                   {Item::rule(2, 2), Item::terminal(2)},
                   {Item::terminal(1, 2), Item::terminal(0)}};
  CHECK((grammar.lengths() == std::vector<std::uint64_t>{25, 7, 3}));
  CHECK(grammar.depth() == 3);
  CHECK(grammar.items() == 7);
  const std::vector<std::uint32_t> sequence = grammar.expanded();
  CHECK(sequence.size() == 25);
  CHECK((std::vector<std::uint32_t>(sequence.begin(), sequence.begin() + 8) ==
         std::vector<std::uint32_t>{0, 1, 1, 0, 1, 1, 0, 2}));
  CHECK(read_back(written(grammar)) == grammar);
  CHECK(Grammar().length() == 0 && read_back(written(Grammar())) == Grammar());
}

TEST("grammar: a loop of new calls takes a byte for each of them") {
  Grammar grammar;
  grammar.rules = {{Item::terminal(0), Item::rule(1, 1000), Item::terminal(3)},
                   {Item::terminal(1), Item::terminal(2)}};
  CHECK(written(grammar).size() == 9);
  CHECK(written(grammar) ==
        std::string(Written().next().new_rule(1000).next().next().end().next().end()));
}

TEST("grammar: what is none is refused") {
  CHECK_THROWS(read_back(""), FormatError, "");
  CHECK_THROWS(read_back(Written().next()), FormatError, "");
  CHECK_THROWS(read_back(Written().next().next().end(), 1), FormatError, "an unknown call");
  CHECK_THROWS(read_back(Written().terminal(7).end(), 7), FormatError, "an unknown call");
  CHECK_THROWS(read_back(Written().rule(1).end()), FormatError, "an unknown rule");
  CHECK_THROWS(read_back(Written().rule(0).end()), FormatError, "contains itself");
  CHECK_THROWS(read_back(Written().new_rule().rule(1).end().end()), FormatError, "contains itself");
  CHECK_THROWS(read_back(Written().new_rule().new_rule().next().rule(1).end().end().end()),
               FormatError, "contains itself");
  CHECK_THROWS(read_back(Written().new_rule().end().end()), FormatError, "a rule is empty");
  CHECK_THROWS(read_back(std::string("\x01\x00", 2)), FormatError, "the end of a rule is repeated");
  Written too_often;
  too_often.next(std::uint64_t{1} << 32).end();
  CHECK_THROWS(read_back(too_often), FormatError, "a repetition");
}

TEST("grammar: a bomb of exponents is refused, whatever its form") {
  // 2^62 terminals are a sequence, 2^63 are none.
  const auto tower = [](int twos, std::uint64_t inner) {
    Written bytes;
    for (int level = 0; level < twos; ++level) bytes.new_rule(2);
    bytes.next(inner);
    for (int level = 0; level <= twos; ++level) bytes.end();
    return std::string(bytes);
  };
  CHECK(read_back(tower(62, 1)).length() == std::uint64_t{1} << 62);
  CHECK_THROWS(read_back(tower(63, 1)), FormatError, "too long");
  CHECK_THROWS(read_back(tower(62, 2)), FormatError, "too long");
  Written twice;  // 2^62 used again
  for (int level = 0; level < 62; ++level) twice.new_rule(2);
  twice.next();
  for (int level = 0; level < 62; ++level) twice.end();
  CHECK_THROWS(read_back(twice.rule(1, 2).end()), FormatError, "too long");
}

TEST("grammar: rules that are too deep are refused, and limit_depth() makes them shallow") {
  const auto chain = [](std::size_t rules) {
    Written bytes;
    for (std::size_t level = 0; level < rules; ++level) bytes.new_rule();
    for (std::size_t level = 0; level <= rules; ++level) bytes.next().end();
    return std::string(bytes);
  };
  Grammar deepest = read_back(chain(kDeepestGrammar - 1), 1000);
  CHECK(deepest.depth() == kDeepestGrammar);
  CHECK_THROWS(read_back(chain(kDeepestGrammar), 1000), FormatError, "too deep");
  // Rule 1, as deep as can be, and a rule around its second use.
  const auto reused = [&](std::size_t rules) {
    const std::string around = Written().new_rule().rule(1).next().end().end();
    return std::string(Written().new_rule()) + chain(rules - 1) + around;
  };
  CHECK(read_back(reused(kDeepestGrammar - 2), 1000).depth() == kDeepestGrammar);
  CHECK_THROWS(read_back(reused(kDeepestGrammar - 1), 1000), FormatError, "too deep");

  const std::vector<std::uint32_t> sequence = deepest.expanded();
  deepest.limit_depth(24);
  CHECK(deepest.depth() == 24 && deepest.expanded() == sequence);
  CHECK(read_back(written(deepest), 1000) == deepest);
}

TEST("grammar: any grammar of a sequence comes back from its bytes") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    SequenceEncoder encoder;
    const std::uint32_t terminals = 1 + static_cast<std::uint32_t>(random() % 6);
    for (std::size_t left = random() % 400; left > 0; --left) {
      encoder.add(static_cast<std::uint32_t>(random() % terminals));
    }
    Grammar grammar = encoder.take();
    CHECK(read_back(written(grammar), terminals) == grammar);
    const std::vector<std::uint32_t> sequence = grammar.expanded();
    grammar.limit_depth(2);
    CHECK(read_back(written(grammar), terminals) == grammar && grammar.expanded() == sequence);
  }
}

TEST("grammar: damaged bytes are a grammar or refused") {
  std::mt19937 random(2);
  SequenceEncoder encoder;
  for (int i = 0; i < 500; ++i) encoder.add(static_cast<std::uint32_t>(random() % 3));
  const std::string bytes = written(encoder.take());
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (std::size_t left = 1 + random() % 3; left > 0; --left) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    try {
      const Grammar grammar = read_back(damaged);
      CHECK(grammar.length() < std::uint64_t{1} << 63 && grammar.depth() <= kDeepestGrammar);
      CHECK(read_back(written(grammar)).lengths() == grammar.lengths());
    } catch (const FormatError&) {
      // As it should be.
    }
  }
}

}  // namespace tisim::tit
