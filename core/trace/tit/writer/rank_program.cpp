#include "trace/tit/writer/rank_program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/tables.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"

namespace tisim::tit {

namespace {

constexpr double kBitsPerColumn = 160;
constexpr double kBitsPerSite = 40;
// What a value in a column takes at least. All ranks share the models of columns: where each rank
// has one volume only, others have other ones.
constexpr double kLeastBitsPerValue = 1;

// A number for two numbers below 2^32; its low bits are as good as random.
std::uint64_t pair_of(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t both = ((a << 32) | b) * 0x9e3779b97f4a7c15U;
  return both ^ (both >> 32);
}

// Numbers for pairs of calls, one behind the other, by first use.
class ContextTable {
 public:
  // The calls have numbers from 1 to `calls`.
  explicit ContextTable(std::size_t calls) : calls_(calls + 1) {
    constexpr std::size_t kMostEntries = std::size_t{1} << 14;
    if (calls_ * calls_ <= kMostEntries) known_.assign(calls_ * calls_, 0);
  }

  std::uint32_t number(std::uint64_t before, std::uint64_t at) {
    const std::uint64_t key = before * calls_ + at;
    if (known_.empty()) return others_.number(key);
    std::uint32_t& next = known_[static_cast<std::size_t>(key)];
    if (next == 0) next = ++size_;
    return next - 1;
  }

 private:
  std::size_t calls_;
  std::vector<std::uint32_t> known_;  // the number plus 1, or 0; empty where it would be large
  std::uint32_t size_ = 0;
  NumberTable others_;
};

// Whether there are more than so many different volumes.
bool has_more_distinct(const RankPart& part, std::size_t most, VolumeSet& volumes) {
  for (const std::uint64_t volume : part.all_volumes()) {
    volumes.add(volume);
    if (volumes.size() > most) return true;
  }
  return false;
}

// Volumes in contexts, numbered by first use. The first contexts have a table each.
class UseTable {
 public:
  struct Use {
    std::uint32_t context;
    bool is_nothing;  // no volume
    std::uint64_t times;
  };

  // Volumes are numbers up to `volumes`, 0 is none; so many uses will be counted. `cells`: memory
  // for its tables.
  UseTable(std::size_t volumes, std::size_t times, std::vector<std::uint32_t>& cells)
      : width_(volumes + 1), most_cells_(kCellsPerUse * times), cells_(cells) {
    cells_.clear();
  }

  // The number of a use, which occurs once more. Contexts come in ascending order for the first
  // time.
  std::uint32_t count(std::uint32_t context, std::uint64_t volume) {
    const std::uint32_t number = number_of(context, volume);
    ++uses_[number].times;
    return number;
  }

  const std::vector<Use>& uses() const { return uses_; }

 private:
  static constexpr std::size_t kCellsPerUse = 16;

  std::uint32_t number_of(std::uint32_t context, std::uint64_t volume) {
    const std::size_t cell = context * width_ + static_cast<std::size_t>(volume);
    if (cell >= cells_.size() && !add_context(context)) {
      const std::uint32_t place = others_.number((std::uint64_t{context} << 32) | volume);
      if (place == number_of_other_.size()) number_of_other_.push_back(add(context, volume) - 1);
      return number_of_other_[place];
    }
    std::uint32_t& next = cells_[cell];
    if (next == 0) next = add(context, volume);
    return next - 1;
  }
  bool add_context(std::uint32_t context) {
    const std::size_t cells = (context + std::size_t{1}) * width_;
    if (cells > most_cells_) return false;
    cells_.resize(cells, 0);
    return true;
  }
  std::uint32_t add(std::uint32_t context, std::uint64_t volume) {
    uses_.push_back({context, volume == 0, 0});
    return static_cast<std::uint32_t>(uses_.size());
  }

  std::size_t width_;
  std::size_t most_cells_;
  std::vector<std::uint32_t>& cells_;  // the number plus 1 of each volume in each context, or 0
  NumberTable others_;
  std::vector<std::uint32_t> number_of_other_;
  std::vector<Use> uses_;
};

}  // namespace

bool measure_volumes(const RankPart& part, const CallList& calls, std::size_t most_distinct,
                     VolumeTables& tables, VolumeCosts& costs) {
  costs.column_bits = kBitsPerColumn;
  constexpr std::uint64_t kSampled = 8;  // one pair of so many is counted
  VolumeSet volumes(part.volumes());
  if (has_more_distinct(part, most_distinct, volumes)) return false;
  volumes.number();
  ContextTable contexts(part.calls().size() + 1);
  UseTable uses(volumes.size(), calls.size(), tables.uses);
  NumberTable& pairs = tables.pairs;
  pairs.clear();
  std::vector<std::uint64_t> totals;  // of contexts
  std::uint64_t before = 0;
  std::uint64_t last_use = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::uint32_t call = calls.calls()[i];
    if (call == calls.silence()) continue;
    const std::uint64_t at = call + std::uint64_t{1};
    const std::uint32_t context = contexts.number(before, at);
    before = at;
    if (context == totals.size()) totals.push_back(0);
    ++totals[context];
    const std::uint64_t use = uses.count(context, volumes.place_of(calls.volumes()[i]));
    const std::uint64_t pair = pair_of(last_use, use);
    if (last_use != use && pair % kSampled == 0) pairs.number(pair);
    last_use = use;
  }
  std::vector<std::uint32_t> uses_of(totals.size(), 0);
  for (const UseTable::Use& use : uses.uses()) ++uses_of[use.context];
  for (const UseTable::Use& use : uses.uses()) {
    if (uses_of[use.context] == 1 && use.is_nothing) continue;
    const auto times = static_cast<double>(use.times);
    const double bits = std::log2(static_cast<double>(totals[use.context]) / times);
    costs.column_bits += times * std::max(bits, kLeastBitsPerValue) + kBitsPerVolume;
  }
  for (const std::uint32_t count : uses_of) costs.column_bits += count > 1 ? kBitsPerSite : 0;
  // A volume with its call is a rule of two items where it comes again; behind one another they
  // are items of rules wherever they do so for the first time.
  costs.grammar_items = static_cast<double>(pairs.size() * kSampled + 2 * uses.uses().size());
  costs.distinct = volumes.size();
  constexpr std::size_t kMostKept = std::size_t{1} << 22;  // as much as a long trace's ranks need
  if (tables.uses.capacity() > kMostKept) tables.uses = {};
  return true;
}

namespace {

// Bits that an item of a grammar takes once it is coded; measured.
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

// The holes of calls that are to be in columns, so that few different calls are left.
std::vector<std::uint32_t> columns_of_shape(const RankPart& part, const ShapeUse& use) {
  constexpr std::size_t kFew = 64;   // different calls of a shape never take much room
  constexpr std::size_t kOften = 8;  // calls that come again so often on average are repetitions
  constexpr std::size_t kMostHoles = 128;
  std::vector<std::uint32_t> columns;
  if (use.calls.size() <= kFew || use.calls.size() * kOften <= use.made) return columns;
  const std::size_t holes = part.calls()[use.calls.front()].numbers.size();
  if (holes == 0 || holes > kMostHoles) return columns;
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

// Of each call of the part, the holes that are to be in columns.
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

// Calls that are equal but for what is in columns become one; places in `calls` by first use.
class Places {
 public:
  Places(const RankPart& part, const std::vector<std::vector<std::uint32_t>>& columns,
         RankProgram& program)
      : part_(part), columns_(columns), program_(program), place_(part.calls().size(), kNone) {}

  std::uint32_t of_call(std::uint32_t call) {
    const std::uint32_t known = place_[call];
    return known != kNone ? known : of_new_call(call);
  }
  std::uint32_t of_volume(std::uint64_t volume) {
    const auto known = volumes_.find(volume);
    if (known != volumes_.end()) return known->second;
    const std::uint32_t place = of({kComputeShape, {static_cast<std::int64_t>(volume)}, {}}, {});
    volumes_.emplace(volume, place);
    return place;
  }
  std::uint32_t of_silence() {
    if (silence_ == kNone) silence_ = of({kSilentShape, {}, {}}, {});
    return silence_;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  using Key = std::tuple<std::uint32_t, std::vector<std::int64_t>, std::vector<AttributeValue>>;

  std::uint32_t of_new_call(std::uint32_t call) {
    Call reduced = part_.calls()[call];
    for (const std::uint32_t hole : columns_[call]) reduced.numbers[hole] = 0;
    return place_[call] = of(std::move(reduced), columns_[call]);
  }
  std::uint32_t of(Call call, std::vector<std::uint32_t> columns) {
    const auto next = static_cast<std::uint32_t>(program_.calls.size());
    // Calls without columns are distinct already.
    if (!columns.empty()) {
      const auto known = kept_.emplace(Key{call.shape, call.numbers, call.attributes}, next);
      if (!known.second) return known.first->second;
    }
    program_.calls.push_back(std::move(call));
    program_.columns.push_back(std::move(columns));
    return next;
  }

  const RankPart& part_;
  const std::vector<std::vector<std::uint32_t>>& columns_;
  RankProgram& program_;
  std::vector<std::uint32_t> place_;  // of each call of the part
  std::unordered_map<std::uint64_t, std::uint32_t> volumes_;
  std::map<Key, std::uint32_t> kept_;
  std::uint32_t silence_ = kNone;
};

void put_arguments(const RankPart& part, std::uint32_t call,
                   const std::vector<std::uint32_t>& columns, RankProgram& program) {
  for (const std::uint32_t hole : columns) {
    program.values.push_back(zigzag(part.calls()[call].numbers[hole]));
  }
}

// Which steps of a part a call of the program stands for, to give it their attributes.
class AttributeTrail {
 public:
  static constexpr std::size_t kNoStep = ~std::size_t{0};

  explicit AttributeTrail(const RankPart& part) : part_(part), is_on_(!part.marks().empty()) {}

  // The next call of the program, at a place; its step, and that of the volume before it.
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

// The program with its volumes in the column, of a part without attributes of steps and without
// arguments in columns.
RankProgram plainly_with_column(const RankPart& part,
                                const std::vector<std::vector<std::uint32_t>>& columns,
                                ProgramMemory& memory) {
  RankProgram program;
  program.rank = part.rank();
  program.has_volumes = part.volumes() > 0;
  program.volumes = part.volumes();
  Places places(part, columns, program);
  const CallList& calls = memory.calls;
  memory.calls.fill(
      part, [&](std::uint32_t call) { return places.of_call(call); },
      [&] { return places.of_silence(); });
  if (program.has_volumes) {
    program.values.assign(calls.volumes(), calls.volumes() + calls.size());
  }
  program.grammar = memory.grammars.of(calls.calls(), calls.size());
  return program;
}

// The program with its volumes in the column.
RankProgram with_column(const RankPart& part,
                        const std::vector<std::vector<std::uint32_t>>& columns,
                        KnownGrammars& grammars) {
  RankProgram program;
  program.rank = part.rank();
  program.has_volumes = part.volumes() > 0;
  program.volumes = part.volumes();
  Places places(part, columns, program);
  std::vector<std::uint32_t> sequence;
  const std::size_t fewest = part.steps() - part.volumes();
  sequence.reserve(fewest + 1);
  if (program.has_volumes) program.values.reserve(fewest + 1);
  AttributeTrail trail(part);
  std::uint64_t waiting = 0;  // a volume's code plus 1
  std::size_t volume_step = AttributeTrail::kNoStep;
  const auto put = [&](std::uint32_t place, std::size_t step) {
    sequence.push_back(place);
    trail.add(place, step, std::exchange(volume_step, AttributeTrail::kNoStep));
    if (program.has_volumes) program.values.push_back(std::exchange(waiting, 0));
  };
  for (std::size_t i = 0; i < part.steps(); ++i) {
    if (part.is_volume(i)) {
      if (waiting != 0) put(places.of_silence(), AttributeTrail::kNoStep);
      waiting = part.volume_of(i) + 1;
      volume_step = i;
      continue;
    }
    const std::uint32_t call = part.call_of(i);
    put(places.of_call(call), i);
    put_arguments(part, call, columns[call], program);
  }
  if (waiting != 0) put(places.of_silence(), AttributeTrail::kNoStep);
  program.grammar = grammars.of(sequence);
  trail.finish(program);
  return program;
}

// The program with its volumes in the grammar; false when that takes more than `most_items`.
bool with_volumes_in_grammar(const RankPart& part,
                             const std::vector<std::vector<std::uint32_t>>& columns,
                             std::size_t most_items, RankProgram& program) {
  constexpr std::size_t kGlance = 256;
  // A program shows its structure early: a grammar that grows on has none.
  constexpr std::size_t kEarly = 512;
  program.rank = part.rank();
  Places places(part, columns, program);
  SequenceEncoder encoder;
  AttributeTrail trail(part);
  const auto put = [&](std::uint32_t place, std::size_t step) {
    encoder.add(place);
    trail.add(place, step, AttributeTrail::kNoStep);
  };
  for (std::size_t i = 0; i < part.steps(); ++i) {
    if (part.is_volume(i)) {
      put(places.of_volume(part.volume_of(i)), i);
    } else {
      const std::uint32_t call = part.call_of(i);
      put(places.of_call(call), i);
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
  ProgramMemory memory;
  return program_of(part, false, memory);
}

RankProgram program_of(const RankPart& part, bool volumes_in_column, ProgramMemory& memory) {
  const std::vector<std::vector<std::uint32_t>> columns = choose_columns(part);
  const bool is_plain =
      part.marks().empty() &&
      std::all_of(columns.begin(), columns.end(), [](const auto& holes) { return holes.empty(); });
  RankProgram program = is_plain ? plainly_with_column(part, columns, memory)
                                 : with_column(part, columns, memory.grammars);
  if (part.volumes() == 0 || volumes_in_column) return program;
  if (!is_plain) {
    memory.calls.fill(
        part, [](std::uint32_t call) { return call; },
        [&] { return static_cast<std::uint32_t>(part.calls().size()); });
  }
  VolumeCosts costs;
  const std::size_t most_distinct = 16 + part.volumes() / 16;
  if (!measure_volumes(part, memory.calls, most_distinct, memory.volumes, costs)) return program;
  const auto items = static_cast<double>(program.grammar.items());
  const double most = (costs.column_bits + kBitsPerItem * items -
                       kBitsPerVolume * static_cast<double>(costs.distinct)) /
                      kBitsPerItem;
  // An estimate of what cannot be undercut by much: a small trace is tried in any case.
  constexpr double kSmall = 1024;
  if (most <= 0 || costs.grammar_items > std::max(most, kSmall)) return program;
  RankProgram other;
  if (!with_volumes_in_grammar(part, columns, static_cast<std::size_t>(most), other)) {
    return program;
  }
  return other;
}

}  // namespace tisim::tit
