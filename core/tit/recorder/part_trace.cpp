#include "tit/recorder/part_trace.hpp"

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "tit/codec/numbers.hpp"
#include "tit/file/expansion.hpp"
#include "tit/file/shape.hpp"
#include "tit/file/volume_code.hpp"
#include "tit/recorder/distinct_calls.hpp"
#include "tit/recorder/value_block.hpp"
#include "tit/writer/rank_part.hpp"
#include "tit/writer/trace_writer.hpp"

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

// The calls of a rank, with the numbers of its own where the structure has none.
class RankCalls {
 public:
  RankCalls(const PartStructure& structure, const PartRank& rank) {
    std::size_t next = 0;
    for (const PartStructure::Stretch& stretch : structure.stretches) {
      calls_.emplace_back();
      for (const PartCall& call : stretch.calls) {
        const RecordedShape& shape = structure.shapes[call.shape];
        std::vector<std::int64_t> numbers(shape.numbers(), 0);
        for (std::size_t hole = 0; hole < numbers.size(); ++hole) {
          if (is_in_column(call.columns, hole)) continue;
          const std::int64_t number = rank.numbers[next++];
          numbers[hole] =
              shape.is_volume[hole] ? code_of_volume(static_cast<std::uint64_t>(number)) : number;
        }
        calls_.back().push_back({call.shape, std::move(numbers)});
      }
    }
  }

  const Call& call(std::uint32_t stretch, std::uint32_t place) const {
    return calls_[stretch][place];
  }

 private:
  std::vector<std::vector<Call>> calls_;  // of each stretch
};

class RankTrace {
 public:
  // `shapes`: the numbers that the structure's shapes have in the trace.
  RankTrace(const PartStructure& structure, const std::vector<std::uint32_t>& shapes,
            const PartRank& rank)
      : structure_(structure),
        shapes_(shapes),
        rank_(rank),
        calls_(structure, rank),
        values_(rank.values) {}

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
    DistinctCalls known;
    for_each_call([&](std::uint32_t stretch, std::uint32_t place) {
      const PartCall& call = structure_.stretches[stretch].calls[place];
      Call made = calls_.call(stretch, place);
      for (std::size_t hole = 0; hole < made.numbers.size(); ++hole) {
        if (is_in_column(call.columns, hole)) made.numbers[hole] = value(call, hole);
      }
      made.shape = shapes_[call.shape];
      if (made.shape == kComputeShape) {
        part.compute(static_cast<std::uint64_t>(made.numbers[0]));
        return;
      }
      const std::uint32_t number = known.number_of(made.shape, 0, made.numbers.data(),
                                                   static_cast<std::uint32_t>(made.numbers.size()));
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
    DistinctCalls known;
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
    if (rank_.values.empty()) return program;
    for_each_call([&](std::uint32_t stretch, std::uint32_t place) {
      const PartCall& call = structure_.stretches[stretch].calls[place];
      for (std::size_t hole = 0; call.columns != 0 && hole < kMostColumnNumbers; ++hole) {
        if (is_in_column(call.columns, hole)) program.values.push_back(zigzag(value(call, hole)));
      }
    });
    return program;
  }

  // Adds the calls of a stretch that others lack; returns the places of all.
  std::vector<std::uint32_t> add_calls(std::uint32_t stretch, DistinctCalls& known,
                                       RankProgram& program) const {
    std::vector<std::uint32_t> places;
    const std::vector<PartCall>& calls = structure_.stretches[stretch].calls;
    for (std::uint32_t place = 0; place < calls.size(); ++place) {
      Call call = calls_.call(stretch, place);
      call.shape = shapes_[call.shape];
      places.push_back(known.number_of(call.shape, calls[place].columns, call.numbers.data(),
                                       static_cast<std::uint32_t>(call.numbers.size())));
      if (places.back() != program.calls.size()) continue;
      program.columns.emplace_back();
      for (std::uint32_t hole = 0; hole < call.numbers.size(); ++hole) {
        if (is_in_column(calls[place].columns, hole)) program.columns.back().push_back(hole);
      }
      program.calls.push_back(std::move(call));
    }
    return places;
  }

  const PartStructure& structure_;
  const std::vector<std::uint32_t>& shapes_;
  const PartRank& rank_;
  RankCalls calls_;
  ValueStream values_;
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
  program.calls.insert(program.calls.begin(), Call{shape, {}});
  program.columns.emplace(program.columns.begin());
  if (program.has_volumes) program.values.insert(program.values.begin(), 0);
}

}  // namespace

std::string trace_of(const PartSet& parts, const std::vector<std::string>& first_lines,
                     std::vector<std::uint32_t>& incomplete, std::uint64_t most_calls_at_hand) {
  const std::uint32_t ranks = parts.ranks_of_program();
  if (ranks == 0) throw FormatError("a program has no rank");
  TraceWriter writer(ranks);
  std::vector<PartStructure> structures;
  std::vector<std::vector<std::uint32_t>> shapes;
  std::vector<std::pair<std::size_t, const PartRank*>> rank_of(ranks);
  for (const PartGroup& group : parts.groups()) {
    for (const PartRank& rank : group.ranks) {
      rank_of[static_cast<std::size_t>(rank.rank)] = {structures.size(), &rank};
    }
    structures.push_back(PartStructure::read(group.structure));
    shapes.emplace_back();
    for (const RecordedShape& shape : structures.back().shapes) {
      shapes.back().push_back(writer.shape(shape_text(shape), shape.rank_holes));
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
      program = RankTrace(structures[group], shapes[group], *rank).program(most_calls_at_hand);
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
