#include "trace/tit/recorder/part_set.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/file/shape.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/grammar.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"
#include "trace/tit/recorder/part_log.hpp"
#include "trace/tit/recorder/rank_recorder.hpp"
#include "trace/tit/writer/rank_program.hpp"
#include "trace/tit/writer/trace_writer.hpp"

namespace tisim::tit {

namespace {

constexpr std::string_view kSetMagic{"\x89TIP\r\n\x1a\n", 8};
constexpr std::uint64_t kSetVersion = 3;
// Bounds memory: a few bytes may describe a million ranks.
constexpr std::uint64_t kMaxPartRanks = 1 << 22;

std::uint32_t ranks_in(ByteReader& in, const char* what) {
  return static_cast<std::uint32_t>(in.at_most(kMaxPartRanks, what));
}

Attribute read_attribute(std::string_view bytes) {
  ByteReader in(bytes);
  Attribute attribute;
  attribute.name = std::string(in.text());
  attribute.kind = static_cast<AttributeKind>(in.at_most(kAttributeKinds - 1, "a kind"));
  if (!Attribute::error_of_name(attribute.name).empty() || !in.at_end()) {
    throw FormatError("an attribute is damaged");
  }
  return attribute;
}

RecordedShape read_shape(std::string_view bytes, const std::vector<Attribute>& attributes) {
  ByteReader in(bytes);
  RecordedShape shape = RecordedShape::read(in);
  if (!in.at_end()) throw FormatError("a shape is longer than declared");
  const auto check = [&attributes](const std::vector<std::uint32_t>& numbers, bool are_fixed) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] >= attributes.size() || attributes[numbers[i]].is_fixed() != are_fixed ||
          (i > 0 && numbers[i] <= numbers[i - 1])) {
        throw FormatError("a call has an invalid attribute");
      }
    }
  };
  check(shape.fixed, true);
  check(shape.streamed, false);
  return shape;
}

RankLog::Segment read_segment(std::string_view bytes, const std::vector<RecordedShape>& shapes) {
  ByteReader in(bytes);
  RankLog::Segment segment;
  for (std::size_t left = in.count("a number of calls", 2); left > 0; --left) {
    RecordedCall call;
    call.shape = static_cast<std::uint32_t>(in.at_most(kMaxSymbols, "the number of a shape"));
    if (call.shape >= shapes.size()) throw FormatError("a call has no shape");
    const RecordedShape& shape = shapes[call.shape];
    call.columns = in.varint();
    if (shape.holes() < kMaxColumnNumbers && call.columns >> shape.holes() != 0) {
      throw FormatError("a call has more columns than numbers");
    }
    call.numbers.resize(shape.numbers(), 0);
    for (std::size_t i = 0; i < call.numbers.size(); ++i) {
      if (!is_in_column(call.columns, i)) call.numbers[i] = in.zigzag();
    }
    segment.calls.push_back(std::move(call));
  }
  segment.grammar = Grammar::read(in, static_cast<std::uint32_t>(segment.calls.size()));
  if (!in.at_end()) throw FormatError("a stretch of calls is longer than declared");
  return segment;
}

void read_attribute_values(std::string_view bytes, RankLog& log) {
  for (ByteReader in(bytes); !in.at_end();) {
    const std::uint64_t attribute = in.varint();
    if (attribute >= log.attributes.size()) throw FormatError("a value has no attribute");
    log.attribute_values[static_cast<std::size_t>(attribute)].push_back(in.varint());
  }
}

}  // namespace

RankLog RankLog::read(std::string_view log) {
  RankLog made;
  SequenceEncoder sequence;
  std::string_view snapshot;
  const auto add_segment = [&](std::string_view payload) {
    sequence.add(static_cast<std::uint32_t>(made.segments.size()));
    made.segments.push_back(read_segment(payload, made.shapes));
  };
  for (const Record& record : records_of(log)) {
    ByteReader in(record.payload);
    switch (record.kind) {
      case RecordKind::head:
        made.rank = static_cast<std::int32_t>(ranks_in(in, "a rank"));
        made.ranks = ranks_in(in, "a number of ranks");
        break;
      case RecordKind::shape:
        made.shapes.push_back(read_shape(record.payload, made.attributes));
        break;
      case RecordKind::segment:
        add_segment(record.payload);
        snapshot = {};
        break;
      case RecordKind::again:
        if (made.segments.empty()) throw FormatError("a stretch of calls is missing");
        sequence.add(static_cast<std::uint32_t>(
            in.at_most(made.segments.size() - 1, "the number of a stretch of calls")));
        snapshot = {};
        break;
      case RecordKind::snapshot:
        snapshot = record.payload;
        break;
      case RecordKind::values:
        made.values += record.payload;
        break;
      case RecordKind::end:
        made.is_complete = true;
        break;
      case RecordKind::attribute:
        made.attributes.push_back(read_attribute(record.payload));
        made.attribute_values.emplace_back();
        break;
      case RecordKind::text:
        made.texts.emplace_back(record.payload);
        break;
      case RecordKind::attribute_values:
        read_attribute_values(record.payload, made);
        break;
    }
  }
  if (made.ranks == 0) throw FormatError("it lacks its rank");
  if (static_cast<std::uint32_t>(made.rank) >= made.ranks) {
    throw FormatError("a rank is not one of the program");
  }
  if (made.shapes.empty() || made.shapes[0].text != kRecordedComputeText) {
    throw FormatError("the first shape is not that of a computation");
  }
  if (!snapshot.empty()) add_segment(snapshot);
  made.sequence = sequence.take();
  made.sequence.limit_depth(kMaxGrammarDepth / 2);
  return made;
}

PartSet PartSet::from_log(std::string log) {
  const RankLog rank_log = RankLog::read(log);
  PartSet set;
  set.ranks_of_program_ = rank_log.ranks;
  set.parts_.emplace(rank_log.rank, Part{rank_log.is_complete, std::move(log)});
  return set;
}

const std::string* PartSet::log(std::int32_t rank) const {
  const auto part = parts_.find(rank);
  return part == parts_.end() ? nullptr : &part->second.log;
}

bool PartSet::is_complete(std::int32_t rank) const {
  const auto part = parts_.find(rank);
  return part != parts_.end() && part->second.is_complete;
}

std::string PartSet::write() const {
  Bytes body;
  body.varint(ranks_of_program_);
  body.varint(parts_.size());
  for (const auto& [rank, part] : parts_) {
    body.varint(static_cast<std::uint64_t>(rank));
    body.byte(part.is_complete ? 1 : 0);
    body.text(part.log);
  }
  Bytes out;
  out.data = std::string(kSetMagic);
  out.varint(kSetVersion);
  out.fixed32(crc32c(body.data.data(), body.data.size()));
  out.data += body.data;
  return std::move(out.data);
}

PartSet PartSet::read(std::string_view bytes) {
  ByteReader in(bytes);
  if (bytes.substr(0, kSetMagic.size()) != kSetMagic) {
    throw FormatError("it does not begin like recorded parts");
  }
  in.bytes(kSetMagic.size());
  if (in.varint() != kSetVersion) throw FormatError("it has another version");
  const std::uint32_t checksum = in.fixed32();
  if (crc32c(in.position(), in.left()) != checksum) throw FormatError("it is damaged");
  PartSet set;
  set.ranks_of_program_ = ranks_in(in, "a number of ranks");
  for (std::size_t left = in.count("a number of parts", 3); left > 0; --left) {
    const auto rank = static_cast<std::int32_t>(ranks_in(in, "a rank"));
    const bool is_complete = in.byte() != 0;
    set.parts_.emplace(rank, Part{is_complete, std::string(in.text())});
  }
  if (!in.at_end()) throw FormatError("it is longer than declared");
  return set;
}

void PartSet::merge(PartSet other) {
  if (other.ranks_of_program_ != ranks_of_program_) {
    throw FormatError("parts are of programs with different numbers of ranks");
  }
  parts_.merge(other.parts_);
  if (other.parts_.empty()) return;
  throw FormatError("rank " + std::to_string(other.parts_.begin()->first) + " is in two parts");
}

namespace {

// Converts the line to a shape of the trace.
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

// Volumes are recorded as whole numbers.
std::int64_t code_of_volume(std::uint64_t volume) {
  const std::uint64_t code = volume_code(std::to_string(volume));
  if (code != kNoVolumeCode) return static_cast<std::int64_t>(code);
  constexpr int kMaxTextLength = 32;
  char text[kMaxTextLength];
  std::snprintf(text, sizeof text, "%.9e", static_cast<double>(volume));
  return static_cast<std::int64_t>(volume_code(text));
}

// The distinct calls of a rank, numbered by first appearance.
class CallNumbering {
 public:
  // `shape` as recorded: calls of one shape have the same attributes.
  std::uint32_t of(std::uint32_t shape, std::uint64_t columns, const Call& call) {
    key_ = call.numbers;
    for (const AttributeValue& attribute : call.attributes) key_.push_back(attribute.second);
    return known_.number_of(shape, columns, key_.data(), static_cast<std::uint32_t>(key_.size()));
  }

 private:
  DistinctCalls known_;
  std::vector<std::int64_t> key_;
};

// The program of a rank, from its log.
class RankTrace {
 public:
  // Declares its shapes, attributes and texts to the writer. Throws FormatError.
  RankTrace(const RankLog& log, TraceWriter& writer)
      : log_(log), values_(log.values), next_(log.attributes.size(), 0) {
    for (const RecordedShape& shape : log.shapes) {
      shapes_.push_back(writer.shape(shape_text(shape), shape.rank_holes));
    }
    for (const Attribute& attribute : log.attributes) {
      const std::uint32_t number = writer.attribute(attribute);
      if (number >= kMaxAttributes) throw FormatError("parts have too many attributes in total");
      if (std::find(attributes_.begin(), attributes_.end(), number) != attributes_.end()) {
        throw FormatError("an attribute is declared twice");
      }
      attributes_.push_back(number);
    }
    for (const std::string& text : log.texts) {
      if (!Attribute::error_of_text(text).empty()) throw FormatError("a text is damaged");
      texts_.push_back(writer.text(text));
    }
    for (const RankLog::Segment& segment : log.segments) {
      calls_.emplace_back();
      for (const RecordedCall& call : segment.calls) calls_.back().push_back(in_trace(call));
    }
  }

  RankProgram program(std::uint64_t max_calls_in_memory, KnownGrammars& known) {
    if (is_longer(max_calls_in_memory)) return recorded_program();
    return program_of(all_calls(), false, known);
  }

 private:
  Call in_trace(const RecordedCall& call) const {
    const RecordedShape& shape = log_.shapes[call.shape];
    Call made;
    made.shape = shapes_[call.shape];
    for (std::size_t hole = 0; hole < shape.holes(); ++hole) {
      const bool is_code = shape.is_volume[hole] && !is_in_column(call.columns, hole);
      const std::int64_t number = call.numbers[hole];
      made.numbers.push_back(is_code ? code_of_volume(static_cast<std::uint64_t>(number)) : number);
    }
    for (std::size_t i = 0; i < shape.fixed.size(); ++i) {
      std::int64_t value = call.numbers[shape.holes() + i];
      if (log_.attributes[shape.fixed[i]].kind == AttributeKind::text) {
        if (static_cast<std::uint64_t>(value) >= texts_.size()) {
          throw FormatError("a text is missing");
        }
        value = texts_[static_cast<std::size_t>(value)];
      }
      made.attributes.emplace_back(attributes_[shape.fixed[i]], value);
    }
    std::sort(made.attributes.begin(), made.attributes.end());
    return made;
  }

  bool is_longer(std::uint64_t most) const {
    std::uint64_t calls = 0;
    std::uint32_t segment = 0;
    std::vector<std::uint64_t> lengths;
    for (const RankLog::Segment& segment_log : log_.segments)
      lengths.push_back(segment_log.grammar.length());
    for (Expansion segments(log_.sequence); calls <= most && segments.next(segment);) {
      if (lengths[segment] > most) return true;
      calls += lengths[segment];
    }
    return calls > most;
  }

  // Calls `take(segment, place)` for each call.
  template <class Take>
  void for_each_call(const Take& take) const {
    std::uint32_t segment = 0;
    for (Expansion segments(log_.sequence); segments.next(segment);) {
      std::uint32_t place = 0;
      for (Expansion calls(log_.segments[segment].grammar); calls.next(place);) {
        take(segment, place);
      }
    }
  }

  // The value of a hole in a column, as a number of the call.
  std::int64_t value(const RecordedCall& call, std::size_t hole) {
    const RecordedShape& shape = log_.shapes[call.shape];
    const std::int64_t value = value_in_column(shape, hole, values_);
    return shape.is_volume[hole] ? code_of_volume(static_cast<std::uint64_t>(value)) : value;
  }
  // The next value of an attribute; kNoAttribute if the call does not have it.
  std::int64_t next_value(std::uint32_t attribute) {
    const std::vector<std::uint64_t>& codes = log_.attribute_values[attribute];
    if (next_[attribute] == codes.size()) return kNoAttribute;
    const std::uint64_t code = codes[next_[attribute]++];
    if (code == 0) return kNoAttribute;
    return attribute_value(log_.attributes[attribute].kind, code,
                           static_cast<std::uint32_t>(log_.rank));
  }
  bool has_attribute_values() const {
    return std::any_of(log_.attribute_values.begin(), log_.attribute_values.end(),
                       [](const auto& values) { return !values.empty(); });
  }

  RankPart all_calls() {
    RankPart part(static_cast<std::uint32_t>(log_.rank));
    CallNumbering known;
    for_each_call([&](std::uint32_t segment, std::uint32_t place) {
      const RecordedCall& call = log_.segments[segment].calls[place];
      Call made = calls_[segment][place];
      for (std::size_t hole = 0; call.columns != 0 && hole < made.numbers.size(); ++hole) {
        if (is_in_column(call.columns, hole)) made.numbers[hole] = value(call, hole);
      }
      for (const std::uint32_t attribute : log_.shapes[call.shape].streamed) {
        const std::int64_t number = next_value(attribute);
        if (number != kNoAttribute) part.attribute(attributes_[attribute], number);
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
    program.rank = static_cast<std::uint32_t>(log_.rank);
    program.grammar = log_.sequence;
    const bool has_attributes = has_attribute_values();
    std::vector<std::uint32_t> first_rule;  // of each segment
    CallNumbering known;
    for (std::uint32_t k = 0; k < log_.segments.size(); ++k) {
      const std::vector<std::uint32_t> places = add_calls(k, has_attributes, known, program);
      const auto base = static_cast<std::uint32_t>(program.grammar.rules.size());
      first_rule.push_back(base);
      for (std::vector<Item> rule : log_.segments[k].grammar.rules) {
        for (Item& item : rule) {
          item = item.is_rule() ? Item::rule(base + item.number(), item.exponent)
                                : Item::terminal(places[item.number()], item.exponent);
        }
        program.grammar.rules.push_back(std::move(rule));
      }
    }
    for (std::size_t rule = 0; rule < log_.sequence.rules.size(); ++rule) {
      for (Item& item : program.grammar.rules[rule]) {
        if (!item.is_rule()) item = Item::rule(first_rule[item.number()], item.exponent);
      }
    }
    program.grammar.limit_depth(kMaxGrammarDepth / 2);
    program.grammar.renumber();
    if (log_.values.empty() && !has_attributes) return program;
    for_each_call([&](std::uint32_t segment, std::uint32_t place) {
      const RecordedCall& call = log_.segments[segment].calls[place];
      for (const std::uint32_t attribute : streamed(call)) {
        if (has_attributes) program.attribute_values.push_back(next_value(attribute));
      }
      for (std::size_t hole = 0; call.columns != 0 && hole < kMaxColumnNumbers; ++hole) {
        if (is_in_column(call.columns, hole)) program.values.push_back(zigzag(value(call, hole)));
      }
    });
    return program;
  }

  // Adds the calls of a segment that are new; returns the indices of all its calls.
  std::vector<std::uint32_t> add_calls(std::uint32_t segment, bool has_attributes,
                                       CallNumbering& known, RankProgram& program) const {
    std::vector<std::uint32_t> places;
    const std::vector<RecordedCall>& calls = log_.segments[segment].calls;
    for (std::uint32_t place = 0; place < calls.size(); ++place) {
      const Call& call = calls_[segment][place];
      places.push_back(known.of(calls[place].shape, calls[place].columns, call));
      if (places.back() != program.calls.size()) continue;
      program.columns.emplace_back();
      for (std::uint32_t hole = 0; hole < call.numbers.size(); ++hole) {
        if (is_in_column(calls[place].columns, hole)) program.columns.back().push_back(hole);
      }
      if (has_attributes) {
        program.attributes.emplace_back();
        for (const std::uint32_t attribute : streamed(calls[place])) {
          program.attributes.back().at.push_back(attributes_[attribute]);
        }
      }
      program.calls.push_back(call);
    }
    return places;
  }

  // The attributes of a call that have streams, in order of their numbers in the trace.
  std::vector<std::uint32_t> streamed(const RecordedCall& call) const {
    std::vector<std::uint32_t> attributes = log_.shapes[call.shape].streamed;
    std::sort(attributes.begin(), attributes.end(),
              [this](std::uint32_t a, std::uint32_t b) { return attributes_[a] < attributes_[b]; });
    return attributes;
  }

  const RankLog& log_;
  // Numbers in the trace of the log's shapes, attributes and texts.
  std::vector<std::uint32_t> shapes_, attributes_, texts_;
  std::vector<std::vector<Call>> calls_;  // of each segment
  ByteReader values_;
  std::vector<std::size_t> next_;  // next value of each attribute
};

std::string comment_on(const std::vector<std::uint32_t>& incomplete) {
  constexpr std::size_t kMaxNamed = 100;
  std::string text = static_cast<char>(kNoRankMark) + std::string("# incomplete: ranks ");
  for (std::size_t i = 0; i < incomplete.size() && i < kMaxNamed; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(incomplete[i]);
  }
  return text + (incomplete.size() > kMaxNamed ? ", ..." : "");
}

// Inserts a line without numbers before all calls.
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
                     std::vector<std::uint32_t>& incomplete, std::uint64_t max_calls_in_memory) {
  const std::uint32_t ranks = parts.ranks_of_program();
  if (ranks == 0) throw FormatError("a program has no rank");
  incomplete.clear();
  for (std::uint32_t number = 0; number < ranks; ++number) {
    if (!parts.is_complete(static_cast<std::int32_t>(number))) incomplete.push_back(number);
  }
  TraceWriter writer(ranks);
  KnownGrammars known;
  for (std::uint32_t number = 0; number < ranks; ++number) {
    RankProgram program;
    program.rank = number;
    if (const std::string* const bytes = parts.log(static_cast<std::int32_t>(number))) {
      const RankLog log = RankLog::read(*bytes);
      if (static_cast<std::uint32_t>(log.rank) != number || log.ranks != ranks) {
        throw FormatError("a part is of another rank");
      }
      program = RankTrace(log, writer).program(max_calls_in_memory, known);
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
