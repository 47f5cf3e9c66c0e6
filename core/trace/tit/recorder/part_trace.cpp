#include "trace/tit/recorder/part_trace.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/tit/codec/numbers.hpp"
#include "trace/tit/file/shape.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/expansion.hpp"
#include "trace/tit/recorder/distinct_calls.hpp"
#include "trace/tit/recorder/value_block.hpp"
#include "trace/tit/writer/rank_part.hpp"
#include "trace/tit/writer/trace_writer.hpp"

namespace tisim {
namespace tit {
namespace {

// The same line as a shape of the trace.
std::string shape_text(const RecordedShape& shape) {
  std::string text;
  if (shape.is_comment()) return static_cast<char>(kNoRankMark) + shape.text;
  for (std::string_view rest = shape.text; !rest.empty();) {
    std::size_t taken = 1;
    if (rest.substr(0, kNumberHole.size()) == kNumberHole) {
      text += static_cast<char>(kNumberMark);
      taken = kNumberHole.size();
    } else if (rest.substr(0, kVolumeHole.size()) == kVolumeHole) {
      text += static_cast<char>(kVolumeMark);
      taken = kVolumeHole.size();
    } else {
      text += rest.front();
    }
    rest.remove_prefix(taken);
  }
  return text;
}

// A volume was recorded as a whole number.
std::int64_t code_of_volume(std::uint64_t volume) {
  const std::uint64_t code = volume_code(std::to_string(volume));
  if (code != kNoVolumeCode) return static_cast<std::int64_t>(code);
  constexpr int kLongest = 32;
  char text[kLongest];
  std::snprintf(text, sizeof text, "%.9e", static_cast<double>(volume));
  return static_cast<std::int64_t>(volume_code(text));
}

// What a structure's shapes and attributes are in the trace.
struct StructureInTrace {
  std::vector<std::uint32_t> shapes;
  std::vector<std::uint32_t> attributes;
};

// The calls of a rank, with the numbers of its own where the structure has none.
class RankCalls {
 public:
  RankCalls(const PartStructure& structure, const StructureInTrace& in_trace, const PartRank& rank,
            std::size_t texts) {
    std::size_t next = 0;
    for (const PartStructure::Stretch& stretch : structure.stretches) {
      calls_.emplace_back();
      for (const PartCall& call : stretch.calls) {
        const RecordedShape& shape = structure.shapes[call.shape];
        Call made;
        made.shape = in_trace.shapes[call.shape];
        made.numbers.resize(shape.holes(), 0);
        for (std::size_t hole = 0; hole < shape.holes(); ++hole) {
          if (is_in_column(call.columns, hole)) continue;
          const std::int64_t number = rank.numbers[next++];
          made.numbers[hole] =
              shape.is_volume[hole] ? code_of_volume(static_cast<std::uint64_t>(number)) : number;
        }
        for (const std::uint32_t attribute : shape.fixed) {
          const std::int64_t value = rank.numbers[next++];
          const bool is_text = structure.attributes[attribute].kind == AttributeKind::text;
          if (is_text && static_cast<std::uint64_t>(value) >= texts) {
            throw FormatError("a text is not there");
          }
          made.attributes.emplace_back(in_trace.attributes[attribute], value);
        }
        std::sort(made.attributes.begin(), made.attributes.end());
        calls_.back().push_back(std::move(made));
      }
    }
  }

  const Call& call(std::uint32_t stretch, std::uint32_t place) const {
    return calls_[stretch][place];
  }

 private:
  std::vector<std::vector<Call>> calls_;  // of each stretch
};

// The different calls of a rank, numbered by first appearance.
class CallNumbering {
 public:
  // `shape` as it was recorded: calls of one shape have the same attributes.
  std::uint32_t of(std::uint32_t shape, std::uint64_t columns, const Call& call) {
    key_ = call.numbers;
    for (const AttributeValue& attribute : call.attributes) key_.push_back(attribute.second);
    return known_.number_of(shape, columns, key_.data(), static_cast<std::uint32_t>(key_.size()));
  }

 private:
  DistinctCalls known_;
  std::vector<std::int64_t> key_;
};

// The values of attributes that differ from call to call, in the order of the calls.
class AttributeStreams {
 public:
  AttributeStreams(const PartStructure& structure, const PartRank& rank)
      : structure_(structure),
        rank_(static_cast<std::uint32_t>(rank.rank)),
        values_(values_by_site(rank.attribute_values)),
        next_(structure.attributes.size(), 0) {}

  bool empty() const { return values_.empty(); }
  // The next value of an attribute; kNoAttribute: the call does not have it.
  std::int64_t next(std::uint32_t attribute) {
    const auto found = values_.find(attribute);
    if (found == values_.end() || next_[attribute] == found->second.size()) return kNoAttribute;
    const std::uint64_t code = found->second[next_[attribute]++];
    if (code == 0) return kNoAttribute;
    return attribute_value(structure_.attributes[attribute].kind, code, rank_);
  }

 private:
  const PartStructure& structure_;
  std::uint32_t rank_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> values_;
  std::vector<std::size_t> next_;  // of each attribute
};

class RankTrace {
 public:
  // `texts`: how many there are.
  RankTrace(const PartStructure& structure, const StructureInTrace& in_trace, const PartRank& rank,
            std::size_t texts)
      : structure_(structure),
        in_trace_(in_trace),
        rank_(rank),
        calls_(structure, in_trace, rank, texts),
        values_(rank.values),
        streams_(structure, rank) {}

  RankProgram program(std::uint64_t most_calls_at_hand) {
    return is_longer(most_calls_at_hand) ? recorded_program() : program_of(all_calls());
  }

 private:
  bool is_longer(std::uint64_t most) const {
    std::uint64_t calls = 0;
    std::uint32_t stretch = 0;
    std::vector<std::uint64_t> lengths;
    for (const PartStructure::Stretch& one : structure_.stretches) {
      lengths.push_back(one.grammar.length());
    }
    for (Expansion stretches(structure_.sequence); calls <= most && stretches.next(stretch);) {
      if (lengths[stretch] > most) return true;
      calls += lengths[stretch];
    }
    return calls > most;
  }

  // Calls `take(stretch, place)` for each call.
  template <class Take>
  void for_each_call(const Take& take) const {
    std::uint32_t stretch = 0;
    for (Expansion stretches(structure_.sequence); stretches.next(stretch);) {
      std::uint32_t place = 0;
      for (Expansion calls(structure_.stretches[stretch].grammar); calls.next(place);) {
        take(stretch, place);
      }
    }
  }

  // The value of a hole in a column, as a number of the call.
  std::int64_t value(const PartCall& call, std::size_t hole) {
    const std::uint64_t coded = values_.next(value_site(call.shape, hole));
    return structure_.shapes[call.shape].is_volume[hole] ? code_of_volume(coded) : unzigzag(coded);
  }

  RankPart all_calls() {
    RankPart part(static_cast<std::uint32_t>(rank_.rank));
    CallNumbering known;
    for_each_call([&](std::uint32_t stretch, std::uint32_t place) {
      const PartCall& call = structure_.stretches[stretch].calls[place];
      Call made = calls_.call(stretch, place);
      for (std::size_t hole = 0; hole < made.numbers.size(); ++hole) {
        if (is_in_column(call.columns, hole)) made.numbers[hole] = value(call, hole);
      }
      for (const std::uint32_t attribute : structure_.shapes[call.shape].streamed) {
        const std::int64_t found = streams_.next(attribute);
        if (found != kNoAttribute) part.attribute(in_trace_.attributes[attribute], found);
      }
      if (made.shape == kComputeShape) {
        for (const AttributeValue& attribute : made.attributes) {
          part.attribute(attribute.first, attribute.second);
        }
        part.compute(static_cast<std::uint64_t>(made.numbers[0]));
        return;
      }
      const std::uint32_t number = known.of(call.shape, 0, made);
      if (number == part.calls().size()) part.define(std::move(made));
      part.make(number);
    });
    return part;
  }

  RankProgram recorded_program() {
    RankProgram program;
    program.rank = static_cast<std::uint32_t>(rank_.rank);
    program.grammar = structure_.sequence;
    std::vector<std::uint32_t> first_rule;  // of each stretch
    CallNumbering known;
    for (std::uint32_t k = 0; k < structure_.stretches.size(); ++k) {
      const std::vector<std::uint32_t> places = add_calls(k, known, program);
      const auto base = static_cast<std::uint32_t>(program.grammar.rules.size());
      first_rule.push_back(base);
      for (std::vector<Item> rule : structure_.stretches[k].grammar.rules) {
        for (Item& item : rule) {
          item = item.is_rule() ? Item::rule(base + item.number(), item.exponent)
                                : Item::terminal(places[item.number()], item.exponent);
        }
        program.grammar.rules.push_back(std::move(rule));
      }
    }
    for (std::size_t rule = 0; rule < structure_.sequence.rules.size(); ++rule) {
      for (Item& item : program.grammar.rules[rule]) {
        if (!item.is_rule()) item = Item::rule(first_rule[item.number()], item.exponent);
      }
    }
    program.grammar.limit_depth(kDeepestGrammar / 2);
    program.grammar.renumber();
    if (rank_.values.empty() && streams_.empty()) return program;
    for_each_call([&](std::uint32_t stretch, std::uint32_t place) {
      const PartCall& call = structure_.stretches[stretch].calls[place];
      for (const std::uint32_t attribute : streamed(call)) {
        program.attribute_values.push_back(streams_.next(attribute));
      }
      for (std::size_t hole = 0; call.columns != 0 && hole < kMostColumnNumbers; ++hole) {
        if (is_in_column(call.columns, hole)) program.values.push_back(zigzag(value(call, hole)));
      }
    });
    return program;
  }

  // Adds the calls of a stretch that others lack; returns the places of all.
  std::vector<std::uint32_t> add_calls(std::uint32_t stretch, CallNumbering& known,
                                       RankProgram& program) const {
    std::vector<std::uint32_t> places;
    const std::vector<PartCall>& calls = structure_.stretches[stretch].calls;
    for (std::uint32_t place = 0; place < calls.size(); ++place) {
      const Call& call = calls_.call(stretch, place);
      places.push_back(known.of(calls[place].shape, calls[place].columns, call));
      if (places.back() != program.calls.size()) continue;
      program.columns.emplace_back();
      for (std::uint32_t hole = 0; hole < call.numbers.size(); ++hole) {
        if (is_in_column(calls[place].columns, hole)) program.columns.back().push_back(hole);
      }
      if (!streams_.empty()) {
        program.attributes.emplace_back();
        for (const std::uint32_t attribute : streamed(calls[place])) {
          program.attributes.back().at.push_back(in_trace_.attributes[attribute]);
        }
      }
      program.calls.push_back(call);
    }
    return places;
  }

  // The attributes of a call that have streams, in the order of their numbers in the trace.
  std::vector<std::uint32_t> streamed(const PartCall& call) const {
    if (streams_.empty()) return {};
    std::vector<std::uint32_t> attributes = structure_.shapes[call.shape].streamed;
    std::sort(attributes.begin(), attributes.end(), [this](std::uint32_t a, std::uint32_t b) {
      return in_trace_.attributes[a] < in_trace_.attributes[b];
    });
    return attributes;
  }

  const PartStructure& structure_;
  const StructureInTrace& in_trace_;
  const PartRank& rank_;
  RankCalls calls_;
  ValueStream values_;
  AttributeStreams streams_;
};

std::string comment_on(const std::vector<std::uint32_t>& incomplete) {
  constexpr std::size_t kMostNamed = 100;
  std::string text = static_cast<char>(kNoRankMark) + std::string("# incomplete: ranks ");
  for (std::size_t i = 0; i < incomplete.size() && i < kMostNamed; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(incomplete[i]);
  }
  return text + (incomplete.size() > kMostNamed ? ", ..." : "");
}

// Puts a line without numbers before all calls.
void begin_with(std::uint32_t shape, RankProgram& program) {
  for (std::vector<Item>& rule : program.grammar.rules) {
    for (Item& item : rule) {
      if (!item.is_rule()) item = Item::terminal(item.number() + 1, item.exponent);
    }
  }
  std::vector<Item>& start = program.grammar.rules[0];
  start.insert(start.begin(), Item::terminal(0));
  program.calls.insert(program.calls.begin(), Call{shape, {}, {}});
  program.columns.emplace(program.columns.begin());
  if (program.has_volumes) program.values.insert(program.values.begin(), 0);
  if (!program.attributes.empty()) program.attributes.emplace(program.attributes.begin());
}

}  // namespace

std::string trace_of(const PartSet& parts, const std::vector<std::string>& first_lines,
                     std::vector<std::uint32_t>& incomplete, std::uint64_t most_calls_at_hand) {
  const std::uint32_t ranks = parts.ranks_of_program();
  if (ranks == 0) throw FormatError("a program has no rank");
  TraceWriter writer(ranks);
  std::vector<PartStructure> structures;
  std::vector<StructureInTrace> in_trace;
  for (const std::string& text : parts.texts()) {
    if (!Attribute::fault_of_text(text).empty()) throw FormatError("a text is damaged");
    writer.text(text);
  }
  std::vector<std::pair<std::size_t, const PartRank*>> rank_of(ranks);
  for (const PartGroup& group : parts.groups()) {
    for (const PartRank& rank : group.ranks) {
      rank_of[static_cast<std::size_t>(rank.rank)] = {structures.size(), &rank};
    }
    structures.push_back(PartStructure::read(group.structure));
    in_trace.emplace_back();
    for (const RecordedShape& shape : structures.back().shapes) {
      in_trace.back().shapes.push_back(writer.shape(shape_text(shape), shape.rank_holes));
    }
    for (const Attribute& attribute : structures.back().attributes) {
      in_trace.back().attributes.push_back(writer.attribute(attribute));
      if (in_trace.back().attributes.back() >= kMostAttributes) {
        throw FormatError("parts have too many attributes together");
      }
    }
    std::vector<std::uint32_t> sorted = in_trace.back().attributes;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      throw FormatError("an attribute is declared twice");
    }
  }
  incomplete.clear();
  for (std::uint32_t number = 0; number < ranks; ++number) {
    const PartRank* const rank = rank_of[number].second;
    if (rank == nullptr || !rank->is_complete) incomplete.push_back(number);
  }
  for (std::uint32_t number = 0; number < ranks; ++number) {
    const auto [group, rank] = rank_of[number];
    RankProgram program;
    program.rank = number;
    if (rank != nullptr) {
      program = RankTrace(structures[group], in_trace[group], *rank, parts.texts().size())
                    .program(most_calls_at_hand);
    }
    if (number == 0 && !incomplete.empty()) {
      begin_with(writer.shape(comment_on(incomplete), 0), program);
    }
    if (number == 0) {
      for (auto line = first_lines.rbegin(); line != first_lines.rend(); ++line) {
        begin_with(writer.shape(*line, 0), program);
      }
    }
    writer.add(std::move(program), "rank-" + std::to_string(number) + ".txt", true);
  }
  return writer.finish({});
}

}  // namespace tit
}  // namespace tisim
