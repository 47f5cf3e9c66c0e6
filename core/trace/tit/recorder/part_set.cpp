#include "trace/tit/recorder/part_set.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/shape.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"
#include "trace/tit/recorder/part_log.hpp"
#include "trace/tit/recorder/rank_recorder.hpp"
#include "trace/tit/vector/rank_vector.hpp"
#include "trace/tit/writer/rank_program.hpp"
#include "trace/tit/writer/trace_writer.hpp"

namespace tisim::tit {

namespace {

constexpr std::string_view kSetMagic{"\x89TIP\r\n\x1a\n", 8};
constexpr std::uint64_t kSetVersion = 2;
// A few bytes may describe a million ranks: this bounds the memory that they take.
constexpr std::uint64_t kMostPartRanks = 1 << 22;

PartStructure::Stretch read_stretch(std::string_view bytes,
                                    const std::vector<RecordedShape>& shapes) {
  ByteReader in(bytes);
  PartStructure::Stretch stretch;
  for (std::size_t left = in.count("a number of calls", 2); left > 0; --left) {
    PartCall call{};
    call.shape = static_cast<std::uint32_t>(in.at_most(kMostSymbols, "the number of a shape"));
    if (call.shape >= shapes.size()) throw FormatError("a call has no shape");
    call.columns = in.varint();
    const std::size_t holes = shapes[call.shape].holes();
    if (holes < kMostColumnNumbers && call.columns >> holes != 0) {
      throw FormatError("a call has more columns than numbers");
    }
    stretch.calls.push_back(call);
  }
  stretch.grammar = Grammar::read(in, static_cast<std::uint32_t>(stretch.calls.size()));
  if (!in.at_end()) throw FormatError("a stretch of calls is longer than what it says");
  return stretch;
}

void check_attributes(const RecordedShape& shape, const std::vector<Attribute>& attributes) {
  const auto check = [&attributes](const std::vector<std::uint32_t>& numbers, bool are_fixed) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] >= attributes.size() || attributes[numbers[i]].is_fixed() != are_fixed ||
          (i > 0 && numbers[i] <= numbers[i - 1])) {
        throw FormatError("a call has an attribute that it cannot have");
      }
    }
  };
  check(shape.fixed, true);
  check(shape.streamed, false);
}

// The records of one rank's log.
class LogReader {
 public:
  PartGroup read(std::string_view log, std::uint32_t& ranks_of_program,
                 std::vector<std::string>& texts) {
    for (const Record& record : records_of(log)) take(record, ranks_of_program);
    if (!has_head_) throw FormatError("it does not say of which rank it is");
    if (!so_far_.empty()) {
      sequence_.add(static_cast<std::uint32_t>(stretches_.size()));
      stretches_.push_back(so_far_);
    }
    PartGroup group;
    Bytes structure;
    structure.varint(attributes_.size());
    for (const std::string_view attribute : attributes_) structure.text(attribute);
    structure.varint(shapes_.size());
    for (const std::string_view shape : shapes_) structure.text(shape);
    structure.varint(stretches_.size());
    for (const std::string_view stretch : stretches_) {
      ByteReader in(stretch);
      structure.text(in.text());
      while (!in.at_end()) rank_.numbers.push_back(in.zigzag());
    }
    Grammar sequence = sequence_.take();
    sequence.limit_depth(kDeepestGrammar / 2);
    sequence.write(structure);
    group.structure = std::move(structure.data);
    group.ranks.push_back(std::move(rank_));
    texts = std::move(texts_);
    return group;
  }

 private:
  void take(const Record& record, std::uint32_t& ranks_of_program) {
    ByteReader in(record.payload);
    switch (record.kind) {
      case RecordKind::head:
        rank_.rank = static_cast<std::int32_t>(in.at_most(kMostPartRanks, "a rank"));
        ranks_of_program =
            static_cast<std::uint32_t>(in.at_most(kMostPartRanks, "a number of ranks"));
        has_head_ = true;
        break;
      case RecordKind::shape:
        shapes_.push_back(record.payload);
        break;
      case RecordKind::segment:
        sequence_.add(static_cast<std::uint32_t>(stretches_.size()));
        stretches_.push_back(record.payload);
        so_far_ = {};
        break;
      case RecordKind::again:
        if (stretches_.empty()) throw FormatError("a stretch of calls is not there");
        sequence_.add(static_cast<std::uint32_t>(
            in.at_most(stretches_.size() - 1, "the number of a stretch of calls")));
        so_far_ = {};
        break;
      case RecordKind::so_far:
        so_far_ = record.payload;
        break;
      case RecordKind::values:
        rank_.values.emplace_back(record.payload);
        break;
      case RecordKind::end:
        rank_.is_complete = true;
        break;
      case RecordKind::attribute:
        attributes_.push_back(record.payload);
        break;
      case RecordKind::text:
        texts_.emplace_back(record.payload);
        break;
      case RecordKind::attribute_values:
        rank_.attribute_values.emplace_back(record.payload);
        break;
    }
  }

  PartRank rank_;
  bool has_head_ = false;
  std::vector<std::string_view> attributes_, shapes_, stretches_;
  std::vector<std::string> texts_;
  std::string_view so_far_;
  SequenceEncoder sequence_;
};

// The ranks of a group as numbers beside each other.
std::vector<std::int32_t> ranks_of(const PartGroup& group) {
  std::vector<std::int32_t> ranks;
  for (const PartRank& rank : group.ranks) ranks.push_back(rank.rank);
  return ranks;
}

void write_group(const PartGroup& group, Bytes& out) {
  const std::vector<std::int32_t> ranks = ranks_of(group);
  std::vector<std::int32_t> places(ranks.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int32_t>(i);
  out.text(group.structure);
  out.varint(ranks.size());
  std::vector<std::int64_t> numbers(ranks.begin(), ranks.end());
  RankVector::of(numbers, places, true).write(out);
  for (std::size_t i = 0; i < ranks.size(); ++i) numbers[i] = group.ranks[i].is_complete ? 1 : 0;
  RankVector::of(numbers, places, false).write(out);
  const std::vector<PartStructure::Number> kinds = PartStructure::read(group.structure).numbers();
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    for (std::size_t i = 0; i < ranks.size(); ++i) numbers[i] = group.ranks[i].numbers[k];
    RankVector::of(numbers, ranks, kinds[k] == PartStructure::Number::rank).write(out);
  }
  for (const auto blocks : {&PartRank::values, &PartRank::attribute_values}) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      numbers[i] = static_cast<std::int64_t>((group.ranks[i].*blocks).size());
    }
    RankVector::of(numbers, ranks, false).write(out);
    for (const PartRank& rank : group.ranks) {
      for (const std::string& block : rank.*blocks) out.text(block);
    }
  }
}

PartGroup read_group(ByteReader& in, std::size_t most_ranks) {
  PartGroup group;
  group.structure = std::string(in.text());
  const std::size_t count = PartStructure::read(group.structure).numbers().size();
  group.ranks.resize(static_cast<std::size_t>(in.at_most(most_ranks, "a number of ranks")));
  std::vector<std::int32_t> ranks(group.ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<std::int32_t>(i);
  const std::vector<std::int64_t> own = RankVector::read(in, ranks.size()).all(ranks);
  const std::vector<std::int64_t> complete = RankVector::read(in, ranks.size()).all(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (own[i] < 0 || own[i] >= static_cast<std::int64_t>(most_ranks)) {
      throw FormatError("a rank is not one of the program");
    }
    group.ranks[i].rank = ranks[i] = static_cast<std::int32_t>(own[i]);
    group.ranks[i].is_complete = complete[i] != 0;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::vector<std::int64_t> numbers = RankVector::read(in, ranks.size()).all(ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i) group.ranks[i].numbers.push_back(numbers[i]);
  }
  for (const auto blocks : {&PartRank::values, &PartRank::attribute_values}) {
    const std::vector<std::int64_t> counts = RankVector::read(in, ranks.size()).all(ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (std::int64_t left = counts[i]; left > 0; --left) {
        (group.ranks[i].*blocks).emplace_back(in.text());
      }
    }
  }
  return group;
}

// Adds the texts that are missing; returns the numbers of all of `others`.
std::vector<std::int64_t> add_texts(const std::vector<std::string>& others,
                                    std::vector<std::string>& texts) {
  std::unordered_map<std::string, std::int64_t> known;
  for (const std::string& text : texts) {
    known.emplace(text, static_cast<std::int64_t>(known.size()));
  }
  std::vector<std::int64_t> numbers;
  for (const std::string& text : others) {
    const auto made = known.emplace(text, static_cast<std::int64_t>(texts.size()));
    if (made.second) texts.push_back(text);
    numbers.push_back(made.first->second);
  }
  return numbers;
}

void renumber_texts(const std::vector<std::int64_t>& text_numbers, PartGroup& group) {
  const std::vector<PartStructure::Number> kinds = PartStructure::read(group.structure).numbers();
  for (PartRank& rank : group.ranks) {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (kinds[k] != PartStructure::Number::text) continue;
      std::int64_t& number = rank.numbers[k];
      if (static_cast<std::uint64_t>(number) >= text_numbers.size()) {
        throw FormatError("a text is not there");
      }
      number = text_numbers[static_cast<std::size_t>(number)];
    }
  }
}

}  // namespace

PartStructure PartStructure::read(std::string_view bytes) {
  ByteReader in(bytes);
  PartStructure structure;
  for (std::size_t left = in.count("a number of attributes"); left > 0; --left) {
    ByteReader said(in.text());
    Attribute attribute;
    attribute.name = std::string(said.text());
    attribute.kind = static_cast<AttributeKind>(said.at_most(kAttributeKinds - 1, "a kind"));
    const std::string fault = Attribute::fault_of_name(attribute.name);
    if (!fault.empty() || !said.at_end()) throw FormatError("an attribute is damaged");
    structure.attributes.push_back(std::move(attribute));
  }
  for (std::size_t left = in.count("a number of shapes"); left > 0; --left) {
    ByteReader shape(in.text());
    structure.shapes.push_back(RecordedShape::read(shape));
    if (!shape.at_end()) throw FormatError("a shape is longer than what it says");
    check_attributes(structure.shapes.back(), structure.attributes);
  }
  for (std::size_t left = in.count("a number of stretches"); left > 0; --left) {
    structure.stretches.push_back(read_stretch(in.text(), structure.shapes));
  }
  if (structure.shapes.empty() || structure.shapes[0].text != kRecordedComputeText) {
    throw FormatError("the first shape is not that of a computation");
  }
  structure.sequence = Grammar::read(in, static_cast<std::uint32_t>(structure.stretches.size()));
  if (!in.at_end()) throw FormatError("a part is longer than what it says");
  return structure;
}

std::vector<PartStructure::Number> PartStructure::numbers() const {
  std::vector<Number> numbers;
  for (const Stretch& stretch : stretches) {
    for (const PartCall& call : stretch.calls) {
      const RecordedShape& shape = shapes[call.shape];
      for (std::size_t hole = 0; hole < shape.holes(); ++hole) {
        if (is_in_column(call.columns, hole)) continue;
        numbers.push_back(shape.is_rank(hole) ? Number::rank : Number::plain);
      }
      for (const std::uint32_t attribute : shape.fixed) {
        const bool is_text = attributes[attribute].kind == AttributeKind::text;
        numbers.push_back(is_text ? Number::text : Number::plain);
      }
    }
  }
  return numbers;
}

PartSet PartSet::from_log(std::string_view log) {
  PartSet set;
  set.groups_.push_back(LogReader().read(log, set.ranks_of_program_, set.texts_));
  const PartGroup& group = set.groups_.front();
  if (PartStructure::read(group.structure).numbers().size() != group.ranks.front().numbers.size()) {
    throw FormatError("a part does not have a number for each argument");
  }
  if (static_cast<std::uint32_t>(group.ranks.front().rank) >= set.ranks_of_program_) {
    throw FormatError("a rank is not one of the program");
  }
  return set;
}

PartSet PartSet::read(std::string_view bytes) {
  ByteReader in(bytes);
  if (bytes.substr(0, kSetMagic.size()) != kSetMagic) {
    throw FormatError("it does not begin as recorded parts");
  }
  in.bytes(kSetMagic.size());
  if (in.varint() != kSetVersion) throw FormatError("it is of another version");
  const std::uint32_t checksum = in.fixed32();
  if (crc32c(in.position(), in.left()) != checksum) throw FormatError("it is damaged");
  PartSet set;
  set.ranks_of_program_ =
      static_cast<std::uint32_t>(in.at_most(kMostPartRanks, "a number of ranks"));
  for (std::size_t left = in.count("a number of texts"); left > 0; --left) {
    set.texts_.emplace_back(in.text());
  }
  for (std::size_t left = in.count("a number of groups"); left > 0; --left) {
    set.groups_.push_back(read_group(in, set.ranks_of_program_));
  }
  if (!in.at_end()) throw FormatError("it is longer than what it says");
  return set;
}

std::string PartSet::write() const {
  Bytes body;
  body.varint(ranks_of_program_);
  body.varint(texts_.size());
  for (const std::string& text : texts_) body.text(text);
  body.varint(groups_.size());
  for (const PartGroup& group : groups_) write_group(group, body);
  Bytes out;
  out.data.append(kSetMagic.data(), kSetMagic.size());
  out.varint(kSetVersion);
  out.fixed32(crc32c(body.data.data(), body.data.size()));
  out.data += body.data;
  return std::move(out.data);
}

void PartSet::merge(PartSet other) {
  if (other.ranks_of_program_ != ranks_of_program_) {
    throw FormatError("parts are of programs with different numbers of ranks");
  }
  const std::vector<std::int64_t> text_numbers = add_texts(other.texts_, texts_);
  for (PartGroup& group : other.groups_) {
    if (!text_numbers.empty()) renumber_texts(text_numbers, group);
    const auto same = std::find_if(groups_.begin(), groups_.end(), [&group](const PartGroup& own) {
      return own.structure == group.structure;
    });
    if (same == groups_.end()) {
      groups_.push_back(std::move(group));
      continue;
    }
    same->ranks.insert(same->ranks.end(), std::make_move_iterator(group.ranks.begin()),
                       std::make_move_iterator(group.ranks.end()));
    std::sort(same->ranks.begin(), same->ranks.end(),
              [](const PartRank& a, const PartRank& b) { return a.rank < b.rank; });
  }
  std::set<std::int32_t> ranks;
  for (const PartGroup& group : groups_) {
    for (const PartRank& rank : group.ranks) {
      if (!ranks.insert(rank.rank).second) {
        throw FormatError("rank " + std::to_string(rank.rank) + " is in two parts");
      }
    }
  }
}

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

// The numbers of a structure's shapes and attributes in the trace.
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

}  // namespace tisim::tit
