#include "trace/tit/writer/rank_program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/tables.hpp"

namespace tisim::tit {

namespace {

// Measured average size of a coded item of a grammar, in bits.
constexpr double kBitsPerItem = 10;

std::uint64_t scrambled(std::uint64_t a, std::uint64_t b) {
  std::uint64_t hash = (a ^ b) + 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}

struct CallHash {
  std::size_t operator()(const Call* call) const {
    std::uint64_t hash = call->shape;
    for (const std::int64_t number : call->numbers) {
      hash = scrambled(hash, static_cast<std::uint64_t>(number));
    }
    for (const AttributeValue& attribute : call->attributes) {
      hash = scrambled(hash, static_cast<std::uint64_t>(attribute.second) + attribute.first);
    }
    return static_cast<std::size_t>(hash);
  }
};
struct CallEqual {
  bool operator()(const Call* a, const Call* b) const {
    return a->shape == b->shape && a->numbers == b->numbers && a->attributes == b->attributes;
  }
};
using CallNumbers = std::unordered_map<const Call*, std::uint32_t, CallHash, CallEqual>;

// The calls of one shape.
struct ShapeUse {
  std::vector<std::uint32_t> calls;
  std::uint64_t made = 0;
};

std::size_t distinct_values(const RankPart& part, const ShapeUse& use, std::size_t hole) {
  std::unordered_set<std::int64_t> values;
  for (const std::uint32_t call : use.calls) values.insert(part.calls()[call].numbers[hole]);
  return values.size();
}

std::size_t distinct_calls(const RankPart& part, const ShapeUse& use,
                           const std::vector<std::uint32_t>& columns) {
  std::vector<Call> reduced;
  reduced.reserve(use.calls.size());
  CallNumbers numbers;
  for (const std::uint32_t call : use.calls) {
    reduced.push_back(part.calls()[call]);
    for (const std::uint32_t hole : columns) reduced.back().numbers[hole] = 0;
    numbers.emplace(&reduced.back(), 0);
  }
  return numbers.size();
}

// The holes of calls to put in columns, so that few distinct calls remain.
std::vector<std::uint32_t> columns_of_shape(const RankPart& part, const ShapeUse& use) {
  constexpr std::size_t kFew = 64;   // that many distinct calls of a shape never take much room
  constexpr std::size_t kOften = 8;  // calls that recur this often on average count as repetitions
  constexpr std::size_t kMaxHoles = 128;
  std::vector<std::uint32_t> columns;
  if (use.calls.size() <= kFew || use.calls.size() * kOften <= use.made) return columns;
  const std::size_t holes = part.calls()[use.calls.front()].numbers.size();
  if (holes == 0 || holes > kMaxHoles) return columns;
  std::vector<std::pair<std::size_t, std::uint32_t>> order;
  for (std::uint32_t hole = 0; hole < holes; ++hole) {
    order.emplace_back(distinct_values(part, use, hole), hole);
  }
  std::sort(order.rbegin(), order.rend());
  for (const auto& candidate : order) {
    if (candidate.first == 1) break;
    columns.push_back(candidate.second);
    const std::size_t left = distinct_calls(part, use, columns);
    if (left <= kFew || left * kOften <= use.made) break;
  }
  std::sort(columns.begin(), columns.end());
  return columns;
}

// For each call of the part, the holes to put in columns.
std::vector<std::vector<std::uint32_t>> choose_columns(const RankPart& part) {
  std::unordered_map<std::uint32_t, ShapeUse> shapes;
  std::vector<std::vector<std::uint32_t>> columns(part.calls().size());
  for (std::uint32_t call = 0; call < part.calls().size(); ++call) {
    shapes[part.calls()[call].shape].calls.push_back(call);
  }
  const bool may_need_them = std::any_of(shapes.begin(), shapes.end(), [](const auto& entry) {
    return entry.second.calls.size() > 64;
  });
  if (!may_need_them) return columns;
  std::vector<std::uint64_t> made(part.calls().size(), 0);
  for (std::size_t i = 0; i < part.steps(); ++i) {
    if (!part.is_volume(i)) ++made[part.call_of(i)];
  }
  for (auto& entry : shapes) {
    ShapeUse& use = entry.second;
    for (const std::uint32_t call : use.calls) use.made += made[call];
    const std::vector<std::uint32_t> chosen = columns_of_shape(part, use);
    for (const std::uint32_t call : use.calls) columns[call] = chosen;
  }
  return columns;
}

// Merges calls that are equal outside of columns; indices into `calls` by first use.
class CallIndex {
 public:
  CallIndex(const RankPart& part, const std::vector<std::vector<std::uint32_t>>& columns,
            RankProgram& program)
      : part_(part), columns_(columns), program_(program), index_(part.calls().size(), kNone) {}

  std::uint32_t of_call(std::uint32_t call) {
    const std::uint32_t known = index_[call];
    return known != kNone ? known : of_new_call(call);
  }
  std::uint32_t of_volume(std::uint64_t volume) {
    const auto known = volumes_.find(volume);
    if (known != volumes_.end()) return known->second;
    const std::uint32_t index = of({kComputeShape, {static_cast<std::int64_t>(volume)}, {}}, {});
    volumes_.emplace(volume, index);
    return index;
  }
  std::uint32_t of_silent_call() {
    if (silent_call_ == kNone) silent_call_ = of({kSilentShape, {}, {}}, {});
    return silent_call_;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  using Key = std::tuple<std::uint32_t, std::vector<std::int64_t>, std::vector<AttributeValue>>;

  std::uint32_t of_new_call(std::uint32_t call) {
    Call reduced = part_.calls()[call];
    for (const std::uint32_t hole : columns_[call]) reduced.numbers[hole] = 0;
    return index_[call] = of(std::move(reduced), columns_[call]);
  }
  std::uint32_t of(Call call, std::vector<std::uint32_t> columns) {
    const auto next = static_cast<std::uint32_t>(program_.calls.size());
    // Calls without columns are already distinct.
    if (!columns.empty()) {
      const auto known = by_key_.emplace(Key{call.shape, call.numbers, call.attributes}, next);
      if (!known.second) return known.first->second;
    }
    program_.calls.push_back(std::move(call));
    program_.columns.push_back(std::move(columns));
    return next;
  }

  const RankPart& part_;
  const std::vector<std::vector<std::uint32_t>>& columns_;
  RankProgram& program_;
  std::vector<std::uint32_t> index_;  // by call of the part
  std::unordered_map<std::uint64_t, std::uint32_t> volumes_;
  std::map<Key, std::uint32_t> by_key_;
  std::uint32_t silent_call_ = kNone;
};

void put_arguments(const RankPart& part, std::uint32_t call,
                   const std::vector<std::uint32_t>& columns, RankProgram& program) {
  for (const std::uint32_t hole : columns) {
    program.values.push_back(zigzag(part.calls()[call].numbers[hole]));
  }
}

// Maps the calls of the program to steps of a part, to give them the steps' attributes.
class AttributeTrail {
 public:
  static constexpr std::size_t kNoStep = ~std::size_t{0};

  explicit AttributeTrail(const RankPart& part) : part_(part), is_on_(!part.marks().empty()) {}

  // Adds the next call of the program, at an index; its step, and that of the preceding volume.
  void add(std::uint32_t place, std::size_t step, std::size_t volume_step) {
    if (is_on_) calls_.push_back({place, step, volume_step});
  }

  void finish(RankProgram& program) const {
    if (!is_on_) return;
    program.attributes.resize(program.calls.size());
    for_each_call([&](const Made& made, const Marks& before, const Marks& at) {
      RankProgram::Columns& columns = program.attributes[made.place];
      note(before, columns.before);
      note(at, columns.at);
    });
    for_each_call([&](const Made& made, const Marks& before, const Marks& at) {
      const RankProgram::Columns& columns = program.attributes[made.place];
      put(before, columns.before, program.attribute_values);
      put(at, columns.at, program.attribute_values);
    });
  }

 private:
  struct Made {
    std::uint32_t place;
    std::size_t step, volume_step;
  };
  struct Marks {
    std::vector<RankPart::Mark>::const_iterator first, last;
  };

  // Calls `take(made, before, at)` with the marks of each call.
  template <class Take>
  void for_each_call(const Take& take) const {
    auto next = part_.marks().begin();
    const auto marks_of = [&](std::size_t step) {
      const auto first = next;
      while (next != part_.marks().end() && next->step == step) ++next;
      return Marks{first, next};
    };
    for (const Made& made : calls_) {
      const Marks before = marks_of(made.volume_step);
      take(made, before, marks_of(made.step));
    }
  }

  static void note(const Marks& marks, std::vector<std::uint32_t>& attributes) {
    for (auto mark = marks.first; mark != marks.last; ++mark) {
      const std::uint32_t attribute = mark->value.first;
      const auto at = std::lower_bound(attributes.begin(), attributes.end(), attribute);
      if (at == attributes.end() || *at != attribute) attributes.insert(at, attribute);
    }
  }
  static void put(const Marks& marks, const std::vector<std::uint32_t>& attributes,
                  std::vector<std::int64_t>& values) {
    for (const std::uint32_t attribute : attributes) {
      std::int64_t value = kNoAttribute;
      for (auto mark = marks.first; mark != marks.last; ++mark) {
        if (mark->value.first == attribute) value = mark->value.second;
      }
      values.push_back(value);
    }
  }

  const RankPart& part_;
  bool is_on_;
  std::vector<Made> calls_;
};

// The calls of a rank, and the preceding volume of each: its code plus 1, or 0.
struct CallsAndVolumes {
  std::vector<std::uint32_t> calls;
  std::vector<std::uint64_t> volumes;
};

// The program with its volumes in the column; also lists its calls.
RankProgram with_column(const RankPart& part,
                        const std::vector<std::vector<std::uint32_t>>& columns,
                        KnownGrammars& grammars, CallsAndVolumes& listed) {
  RankProgram program;
  program.rank = part.rank();
  program.has_volumes = part.volumes() > 0;
  program.volumes = part.volumes();
  CallIndex call_index(part, columns, program);
  const std::size_t fewest = part.steps() - part.volumes();
  listed.calls.reserve(fewest + 1);
  if (program.has_volumes) {
    listed.volumes.reserve(fewest + 1);
    program.values.reserve(fewest + 1);
  }
  AttributeTrail trail(part);
  std::uint64_t waiting = 0;  // code of a volume, plus 1
  std::size_t volume_step = AttributeTrail::kNoStep;
  const auto put = [&](std::uint32_t place, std::size_t step) {
    listed.calls.push_back(place);
    trail.add(place, step, std::exchange(volume_step, AttributeTrail::kNoStep));
    if (!program.has_volumes) return;
    listed.volumes.push_back(waiting);
    program.values.push_back(std::exchange(waiting, 0));
  };
  for (std::size_t i = 0; i < part.steps(); ++i) {
    if (part.is_volume(i)) {
      if (waiting != 0) put(call_index.of_silent_call(), AttributeTrail::kNoStep);
      waiting = part.volume_of(i) + 1;
      volume_step = i;
      continue;
    }
    const std::uint32_t call = part.call_of(i);
    put(call_index.of_call(call), i);
    put_arguments(part, call, columns[call], program);
  }
  if (waiting != 0) put(call_index.of_silent_call(), AttributeTrail::kNoStep);
  program.grammar = grammars.of(listed.calls);
  trail.finish(program);
  return program;
}

// Estimated cost of a rank's volumes: of the column, from their entropy given the adjacent calls
// plus the models, and of the grammar.
struct VolumeCosts {
  double column_bits = 0;
  double grammar_items = 0;
};

// nullopt: too many distinct volumes for a grammar.
std::optional<VolumeCosts> measure_volumes(const CallsAndVolumes& listed, std::size_t volumes) {
  constexpr std::size_t kMeasured = 4096;  // leading calls that represent all
  const std::size_t size = std::min(listed.calls.size(), kMeasured);
  const std::size_t most_different =
      16 + volumes * size / (listed.calls.size() * 16);  // in contexts
  std::size_t different = 0;
  constexpr double kBitsPerColumn = 160;
  constexpr double kBitsPerSite = 40;
  // Minimum cost of a value in a column. All ranks share the models of columns: if each rank has a
  // single volume, those of other ranks differ.
  constexpr double kMinBitsPerValue = 1;
  struct Use {  // of a volume in a context
    std::uint32_t context;
    bool is_nothing;  // no volume
    std::uint64_t times;
  };
  NumberTable contexts;
  NumberTable numbers;  // of uses
  std::vector<Use> uses;
  std::vector<std::uint64_t> totals;   // of contexts
  std::vector<std::uint32_t> uses_of;  // of contexts
  NumberTable pairs;                   // of consecutive uses
  std::uint64_t before = 0;
  std::uint64_t last_use = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t at = listed.calls[i] + std::uint64_t{1};
    const std::uint32_t context = contexts.number(before << 32 | at);
    before = at;
    if (context == totals.size()) {
      totals.push_back(0);
      uses_of.push_back(0);
    }
    ++totals[context];
    const std::uint32_t use = numbers.number(scrambled(scrambled(context, 0), listed.volumes[i]));
    if (use == uses.size()) {
      uses.push_back({context, listed.volumes[i] == 0, 0});
      ++uses_of[context];
      different += listed.volumes[i] != 0 ? 1 : 0;
      if (different > most_different) return std::nullopt;
    }
    ++uses[use].times;
    if (last_use != use) pairs.number(last_use << 32 | use);
    last_use = use;
  }
  double bits = 0;
  double once = kBitsPerColumn;  // independent of the number of calls
  for (const Use& use : uses) {
    if (uses_of[use.context] == 1 && use.is_nothing) continue;
    const auto times = static_cast<double>(use.times);
    const double each = std::log2(static_cast<double>(totals[use.context]) / times);
    bits += times * std::max(each, kMinBitsPerValue);
  }
  for (const std::uint32_t count : uses_of) once += count > 1 ? kBitsPerSite : 0;
  // A volume with its call is a rule of two items if it recurs; consecutive ones are items of rules
  // where they are first adjacent.
  const double scale = static_cast<double>(listed.calls.size()) / static_cast<double>(size);
  return VolumeCosts{once + scale * bits, scale * static_cast<double>(pairs.size()) +
                                              2 * static_cast<double>(uses.size())};
}

// The program with its volumes in the grammar; returns false if that takes more than `most_items`.
bool with_volumes_in_grammar(const RankPart& part,
                             const std::vector<std::vector<std::uint32_t>>& columns,
                             std::size_t most_items, RankProgram& program) {
  constexpr std::size_t kGlance = 256;
  // A program shows its structure early: a grammar that keeps growing has none.
  constexpr std::size_t kEarly = 512;
  program.rank = part.rank();
  CallIndex call_index(part, columns, program);
  SequenceEncoder encoder;
  AttributeTrail trail(part);
  const auto put = [&](std::uint32_t place, std::size_t step) {
    encoder.add(place);
    trail.add(place, step, AttributeTrail::kNoStep);
  };
  for (std::size_t i = 0; i < part.steps(); ++i) {
    if (part.is_volume(i)) {
      put(call_index.of_volume(part.volume_of(i)), i);
    } else {
      const std::uint32_t call = part.call_of(i);
      put(call_index.of_call(call), i);
      put_arguments(part, call, columns[call], program);
    }
    if (i % kGlance != 0) continue;
    const std::size_t due = kEarly + 2 * most_items * i / part.steps();
    if (encoder.items() > std::min(due, most_items)) return false;
  }
  program.grammar = encoder.take();
  trail.finish(program);
  return program.grammar.items() <= most_items;
}

}  // namespace

RankProgram program_of(const RankPart& part) {
  KnownGrammars grammars;
  return program_of(part, false, grammars);
}

RankProgram program_of(const RankPart& part, bool volumes_in_column, KnownGrammars& grammars) {
  const std::vector<std::vector<std::uint32_t>> columns = choose_columns(part);
  CallsAndVolumes listed;
  RankProgram program = with_column(part, columns, grammars, listed);
  if (part.volumes() == 0 || volumes_in_column) return program;
  const std::optional<VolumeCosts> costs = measure_volumes(listed, part.volumes());
  if (!costs) return program;
  const double most =
      costs->column_bits / kBitsPerItem + static_cast<double>(program.grammar.items());
  constexpr double kSmall = 1024;  // a small trace is always tried
  RankProgram other;
  if (most <= 0 || costs->grammar_items > std::max(most, kSmall) ||
      !with_volumes_in_grammar(part, columns, static_cast<std::size_t>(most), other)) {
    return program;
  }
  return other;
}

}  // namespace tisim::tit
