#include "trace/vocabulary/collective_layout.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tisim {

namespace {

// Reads a usage of the table. A word that it does not know is no constant expression: then this
// does not compile.
constexpr CollectiveGrammar read_usage(std::string_view usage) {
  CollectiveGrammar grammar;
  if (usage == "no arguments") return grammar;
  while (!usage.empty()) {
    const std::size_t length = std::min(usage.find_first_of(" ]"), usage.size());
    const std::string_view word = usage.substr(0, length);
    const CountPlace here{grammar.numbers, grammar.vectors};
    if (word == "count" || word == "scount") {
      grammar.send_count = here;
      ++grammar.numbers;
    } else if (word == "rcount") {
      grammar.receive_count = here;
      ++grammar.numbers;
    } else if (word == "sbuf" || word == "rbuf") {
      ++grammar.numbers;
    } else if (word == "s0..sP-1") {
      grammar.send_counts = here;
      ++grammar.vectors;
    } else if (word == "r0..rP-1") {
      grammar.receive_counts = here;
      ++grammar.vectors;
    } else if (word == "flops") {
      ++grammar.flops;
    } else if (word == "[root") {
      ++grammar.roots;
    } else if (word == "[type" || word == "[stype" || word == "rtype") {
      ++grammar.types;
    } else if (word == "[displacements") {
      grammar.displacements = true;
    } else {
      throw "no collective has such an argument";
    }
    usage.remove_prefix(std::min(usage.find_first_not_of(" ]", length), usage.size()));
  }
  return grammar;
}

constexpr auto read_usages() {
  std::array<CollectiveGrammar, kCollectives> grammars{};
  for (std::size_t i = 0; i < kCollectives; ++i) {
    grammars[i] = read_usage(kCollectiveTraits[i].usage);
  }
  return grammars;
}

constexpr auto kGrammars = read_usages();

}  // namespace

const CollectiveGrammar& grammar_of(Operation collective) {
  return kGrammars[static_cast<std::size_t>(collective)];
}

CollectiveLayout::CollectiveLayout(Operation collective, std::int64_t size) {
  const CollectiveGrammar& grammar = grammar_of(collective);
  const std::int64_t vector = std::max<std::int64_t>(size, 1);
  counts_ = grammar.numbers + grammar.vectors * vector;
  flops_ = grammar.flops;
  roots_ = grammar.roots;
  types_ = grammar.types;
  displacements_ = grammar.displacements ? vector : 0;
  has_roles_ = size > 0 || grammar.vectors == 0;
}

bool CollectiveLayout::accepts(std::int64_t arguments) const {
  const std::int64_t least = counts_ + flops_;
  if (!has_roles_) return arguments >= least;
  const std::int64_t most = least + roots_ + types_;
  if (arguments >= least && arguments <= most) return true;
  return displacements_ > 0 &&
         (arguments == least + displacements_ || arguments == most + displacements_);
}

ArgumentRole CollectiveLayout::role(std::int64_t index, std::int64_t arguments) const {
  if (index < counts_) return ArgumentRole::count;
  index -= counts_;
  arguments -= counts_;
  if (index < flops_) return ArgumentRole::flops;
  index -= flops_;
  arguments -= flops_;
  if (index < roots_) return ArgumentRole::root;
  index -= roots_;
  arguments -= roots_;
  // Displacements may come with types before them, or alone.
  const std::int64_t types = arguments <= types_ ? arguments : arguments - displacements_;
  return index < types ? ArgumentRole::type : ArgumentRole::displacement;
}

}  // namespace tisim
