#include "trace/tit/recorder/part_set.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "trace/tit/codec/crc32c.hpp"
#include "trace/tit/grammar/sequence_encoder.hpp"
#include "trace/tit/recorder/part_log.hpp"
#include "trace/tit/vector/rank_vector.hpp"

namespace tisim {
namespace tit {
namespace {

constexpr std::string_view kSetMagic{"\x89TIP\r\n\x1a\n", 8};
constexpr std::uint64_t kSetVersion = 2;
// A few bytes may say what a million ranks did: this bounds what they take in memory.
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

// Adds the texts that are not there; the numbers that all of them have then.
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

}  // namespace tit
}  // namespace tisim
