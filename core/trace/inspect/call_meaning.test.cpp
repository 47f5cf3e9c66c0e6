#include "trace/inspect/call_meaning.hpp"

#include <map>
#include <random>
#include <tuple>

#include "core/test.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"

namespace tisim {

// Contexts counted by rule, compared with those of the expanded sequence.

namespace {

using Counted = std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint64_t>;

Counted counted(const std::vector<CallContext>& contexts) {
  Counted by_key;
  for (const CallContext& context : contexts) {
    by_key[{context.before, context.call, context.double_default}] += context.times;
  }
  return by_key;
}

Counted one_by_one(const std::vector<std::uint32_t>& sequence,
                   const std::vector<DefaultTypeEffect>& effects) {
  Counted by_key;
  std::uint32_t before = 0;
  bool doubles = false;
  for (const std::uint32_t call : sequence) {
    ++by_key[{before, call, doubles}];
    if (effects[call] != DefaultTypeEffect::kept)
      doubles = effects[call] == DefaultTypeEffect::doubles;
    before = call + 1;
  }
  return by_key;
}

}  // namespace

TEST("contexts: as often as in the sequence") {
  std::mt19937 engine(7);
  const auto below = [&](std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(engine);
  };
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint32_t calls = 1 + below(5);
    std::vector<DefaultTypeEffect> effects(calls, DefaultTypeEffect::kept);
    for (DefaultTypeEffect& effect : effects) {
      if (below(4) == 0)
        effect = below(2) == 0 ? DefaultTypeEffect::bytes : DefaultTypeEffect::doubles;
    }
    tit::SequenceEncoder encoder;
    const std::uint32_t phases = below(6);
    for (std::uint32_t phase = 0; phase < phases; ++phase) {
      const std::uint32_t length = 1 + below(6);
      std::vector<std::uint32_t> body;
      for (std::uint32_t i = 0; i < length; ++i) body.push_back(below(calls));
      const std::uint32_t times = 1 + below(20);
      for (std::uint32_t i = 0; i < times; ++i) {
        for (const std::uint32_t call : body) encoder.add(call);
      }
    }
    const tit::Grammar grammar = encoder.take();
    const std::vector<std::uint32_t> sequence = grammar.expanded();
    CHECK(counted(contexts_of(grammar, effects)) == one_by_one(sequence, effects));
    CHECK(last_call_of(grammar) == (sequence.empty() ? 0 : sequence.back() + 1));
  }
}

TEST("contexts: a sequence of 2^60 calls is counted without being unfolded") {
  constexpr std::uint32_t kTimes = 1U << 30;
  const tit::Grammar grammar{
      {{tit::Item::rule(1, kTimes)}, {tit::Item::terminal(0, kTimes - 1), tit::Item::terminal(1)}}};
  const std::vector<CallContext> contexts =
      contexts_of(grammar, {DefaultTypeEffect::kept, DefaultTypeEffect::doubles});
  constexpr std::uint64_t kAll = std::uint64_t{kTimes} * kTimes;
  const Counted expected{{{0, 0, false}, 1},
                         {{1, 0, false}, kTimes - 2},
                         {{1, 1, false}, 1},
                         {{2, 0, true}, kTimes - 1},
                         {{1, 0, true}, (std::uint64_t{kTimes} - 1) * (kTimes - 2)},
                         {{1, 1, true}, kTimes - 1}};
  CHECK(counted(contexts) == expected);
  std::uint64_t all = 0;
  for (const CallContext& context : contexts) all += context.times;
  CHECK(all == kAll);
}

}  // namespace tisim
