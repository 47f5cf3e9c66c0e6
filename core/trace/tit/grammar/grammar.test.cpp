// Sequences of all kinds become small grammars that survive a round trip through bytes.
#include "trace/tit/grammar/grammar.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

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

// Writes the codes of grammar.cpp; an exponent is 1 by default.
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
  // 2^62 terminals are a valid sequence, 2^63 are not.
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
  Written twice;  // uses 2^62 again
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
  Grammar deepest = read_back(chain(kMaxGrammarDepth - 1), 1000);
  CHECK(deepest.depth() == kMaxGrammarDepth);
  CHECK_THROWS(read_back(chain(kMaxGrammarDepth), 1000), FormatError, "too deep");
  // Rule 1 at the maximum depth, and a rule around its second use.
  const auto reused = [&](std::size_t rules) {
    const std::string around = Written().new_rule().rule(1).next().end().end();
    return std::string(Written().new_rule()) + chain(rules - 1) + around;
  };
  CHECK(read_back(reused(kMaxGrammarDepth - 2), 1000).depth() == kMaxGrammarDepth);
  CHECK_THROWS(read_back(reused(kMaxGrammarDepth - 1), 1000), FormatError, "too deep");

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
      CHECK(grammar.length() < std::uint64_t{1} << 63 && grammar.depth() <= kMaxGrammarDepth);
      CHECK(read_back(written(grammar)).lengths() == grammar.lengths());
    } catch (const FormatError&) {
      // Expected.
    }
  }
}

namespace {

using Sequence = std::vector<std::uint32_t>;

void append(Sequence& sequence, const Sequence& more, std::size_t times = 1) {
  for (; times > 0; --times) sequence.insert(sequence.end(), more.begin(), more.end());
}

// Checks all guarantees of a grammar; `often`: after each step too. Returns its bytes.
std::size_t encoded_size(const Sequence& sequence, bool often = false) {
  SequenceEncoder encoder;
  Sequence so_far;
  for (const std::uint32_t terminal : sequence) {
    encoder.add(terminal);
    if (!often) continue;
    so_far.push_back(terminal);
    CHECK(std::string(encoder.verify()) == "");
    CHECK(encoder.snapshot().expanded() == so_far);
  }
  CHECK(encoder.length() == sequence.size());
  CHECK(std::string(encoder.verify()) == "");
  const Grammar grammar = encoder.take();
  CHECK(grammar.expanded() == sequence);
  CHECK(grammar.length() == sequence.size());
  CHECK(encoder.length() == 0 && encoder.take() == Grammar());
  Bytes bytes;
  grammar.write(bytes);
  return bytes.data.size();
}

Sequence random_sequence(std::mt19937& random, std::size_t most, std::uint32_t terminals) {
  Sequence sequence(random() % (most + 1));
  for (std::uint32_t& terminal : sequence) {
    terminal = static_cast<std::uint32_t>(random() % terminals);
  }
  return sequence;
}

// Nested loops.
Sequence nested_loops(std::mt19937& random, int depth, std::uint32_t terminals) {
  Sequence sequence;
  for (std::size_t parts = 1 + random() % 4; parts > 0; --parts) {
    if (depth == 0 || random() % 3 == 0) {
      sequence.push_back(static_cast<std::uint32_t>(random() % terminals));
    } else {
      append(sequence, nested_loops(random, depth - 1, terminals), 1 + random() % 5);
    }
  }
  return sequence;
}

// Numbered by first appearance, as callers do.
Sequence renumbered(const Sequence& sequence) {
  Sequence numbers;
  Sequence number_of(100, 100);
  std::uint32_t next = 0;
  for (const std::uint32_t terminal : sequence) {
    if (number_of[terminal] == 100) number_of[terminal] = next++;
    numbers.push_back(number_of[terminal]);
  }
  return numbers;
}

}  // namespace

TEST("sequitur: random sequences, every prefix") {
  std::mt19937 random(1);
  encoded_size({}, true);
  for (int round = 0; round < 150; ++round) {
    const auto terminals = 1 + static_cast<std::uint32_t>(random() % 5);
    encoded_size(random_sequence(random, 80, terminals), true);
  }
}

TEST("sequitur: long random sequences") {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const auto terminals = 2 + static_cast<std::uint32_t>(random() % 8);
    encoded_size(random_sequence(random, 4000, terminals));
  }
}

TEST("sequitur: nested loops that change now and then") {
  std::mt19937 random(3);
  for (int round = 0; round < 150; ++round) {
    Sequence sequence;
    Sequence body = nested_loops(random, 3, 6);
    for (std::size_t left = 1 + random() % 6; left > 0 && sequence.size() < 2000; --left) {
      if (random() % 4 == 0) body = nested_loops(random, 3, 6);
      append(sequence, body);
    }
    encoded_size(sequence, sequence.size() < 100);
  }
}

TEST("sequitur: sequences without a small grammar, and ones with deep rules") {
  Sequence runs, prefixes, squares, halves, fibonacci = {0, 1}, before = {0}, parity;
  for (std::uint32_t i = 0; i < 100; ++i) {
    append(runs, {0}, i);
    runs.push_back(1);
    for (std::uint32_t j = 0; j < i; ++j) prefixes.push_back(j);
    append(squares, {i % 2, i % 3}, i);
    append(halves, {i % 7, 50}, 2);
    halves.push_back(i % 7);
  }
  while (fibonacci.size() < 3000) {
    const Sequence last = fibonacci;
    append(fibonacci, before);
    before = last;
  }
  for (unsigned i = 0; i < 5000; ++i) {  // the Thue-Morse sequence
    unsigned bits = i;
    bits ^= bits >> 8;
    bits ^= bits >> 4;
    bits ^= bits >> 2;
    bits ^= bits >> 1;
    parity.push_back(bits & 1);
  }
  CHECK(encoded_size(runs) < 400);
  CHECK(encoded_size(prefixes) < 600);
  CHECK(encoded_size(squares) < 1000);
  CHECK(encoded_size(halves) < 200);
  CHECK(encoded_size(fibonacci) < 80);
  CHECK(encoded_size(parity) < 120);
}

TEST("sequitur: a loop takes as much space for 10 iterations as for 1,000") {
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    const Sequence start = nested_loops(random, 1, 3), end = nested_loops(random, 1, 3);
    std::vector<Sequence> bodies(1 + random() % 4);
    for (Sequence& body : bodies) body = nested_loops(random, 2, 8);
    const bool checkpoints = random() % 2 == 0;
    std::size_t smallest = ~std::size_t{0}, largest = 0;
    for (const unsigned iterations : {10U, 100U, 1000U}) {
      Sequence sequence = start;
      for (unsigned i = 1; i <= iterations; ++i) {
        for (const Sequence& body : bodies) append(sequence, body);
        if (checkpoints && i % 5 == 0) sequence.push_back(9);
      }
      append(sequence, end);
      const std::size_t size = encoded_size(renumbered(sequence));
      smallest = std::min(smallest, size);
      largest = std::max(largest, size);
    }
    CHECK(largest - smallest <= 16);
  }
}

TEST("sequitur: many terminals at once give the same grammar as one by one") {
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    Sequence sequence;
    for (int part = 0; part < 4; ++part) {
      const Sequence body = nested_loops(random, 2, 6);
      append(sequence, body, 1 + random() % 9);
      // Loops that end early, or continue as other ones.
      append(sequence, {body.begin(),
                        body.begin() + static_cast<std::ptrdiff_t>(random() % (body.size() + 1))});
    }
    SequenceEncoder one_by_one;
    for (const std::uint32_t terminal : sequence) one_by_one.add(terminal);
    SequenceEncoder at_once;
    const std::size_t half = random() % (sequence.size() + 1);
    at_once.add_all(sequence.data(), half);
    at_once.add_all(sequence.data() + half, sequence.size() - half);
    CHECK(at_once.length() == one_by_one.length());
    CHECK(std::string(at_once.verify()) == "");
    const Grammar grammar = at_once.take();
    CHECK(grammar == one_by_one.take());
    CHECK(grammar.expanded() == sequence);
  }
}

TEST("sequitur: memory does not grow with the iterations of a loop") {
  std::mt19937 random(5);
  const Sequence body = nested_loops(random, 3, 20);
  SequenceEncoder encoder;
  std::size_t after_ten = 0;
  for (int iteration = 0; iteration < 1000; ++iteration) {
    for (const std::uint32_t terminal : body) encoder.add(terminal);
    if (iteration == 10) after_ten = encoder.memory();
  }
  CHECK(encoder.memory() == after_ten);
  CHECK(after_ten < 100 * body.size() + 2000);
}

TEST("sequitur: runs and loops of more than 2^32 repetitions") {
  constexpr std::uint32_t kMaxTimes = 0xffffffff;
  Sequitur grammar;
  grammar.append(Item::terminal(0, kMaxTimes));
  grammar.append(Item::terminal(0, 5));
  grammar.append(Item::terminal(0, kMaxTimes));
  CHECK(std::string(grammar.verify()) == "");
  CHECK(grammar.grammar().length() == 2 * std::uint64_t{kMaxTimes} + 5);

  grammar.clear();
  for (int i = 0; i < 4; ++i) grammar.append(Item::terminal(i % 2));
  grammar.repeat_last(3 * std::uint64_t{kMaxTimes});
  CHECK(std::string(grammar.verify()) == "");
  CHECK(grammar.grammar().length() == 4 + 6 * std::uint64_t{kMaxTimes});
  // Rules of one item whose exponents cannot be multiplied.
  for (int i = 0; i < 4; ++i) {
    grammar.append(Item::terminal(2));
    for (int j = 0; j < 6; ++j) grammar.append(Item::terminal(j % 2, kMaxTimes - 1));
    CHECK(std::string(grammar.verify()) == "");
  }
}

// Grammars of recurring sequences.

namespace {

Grammar encoded(const Sequence& sequence) {
  SequenceEncoder encoder;
  for (const std::uint32_t terminal : sequence) encoder.add(terminal);
  return encoder.take();
}

}  // namespace

TEST("known grammars: are those of an encoder, however many sequences came before") {
  KnownGrammars grammars;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t length = 0; length < 50; ++length) {
      Sequence sequence;
      for (std::uint32_t i = 0; i < length; ++i) sequence.push_back(i % 3);
      CHECK(grammars.of(sequence) == encoded(sequence));
    }
  }
}

TEST("known grammars: sequences that differ in one terminal have their own") {
  KnownGrammars grammars;
  const Sequence loop = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  Sequence other = loop;
  other.back() = 1;
  CHECK(grammars.of(loop).expanded() == loop);
  CHECK(grammars.of(other).expanded() == other);
  CHECK(grammars.of(loop).expanded() == loop);
}

}  // namespace tisim::tit
