#include "trace/tit/file/attributes.hpp"

#include <algorithm>
#include <utility>

namespace tisim::tit {

namespace {

constexpr std::size_t kMaxNameLength = 64;
constexpr std::size_t kMaxAttributeTextLength = 1 << 16;
constexpr unsigned kAttributeBits = 8;  // of an attribute's number

std::uint64_t site_key(std::uint32_t attribute, std::uint32_t kind, bool is_before) {
  return (((std::uint64_t{kind} << kAttributeBits) | attribute) << 1) | (is_before ? 1 : 0);
}

void write_numbers(const std::vector<std::uint32_t>& numbers, Bytes& out) {
  out.varint(numbers.size());
  for (const std::uint32_t number : numbers) out.varint(number);
}

void write_layout(const CallAttributes& layout, Bytes& out) {
  out.varint(layout.fixed.size());
  for (const CallAttributes::Fixed& fixed : layout.fixed) {
    out.varint(fixed.attribute);
    fixed.argument.write(out);
  }
  write_numbers(layout.before, out);
  write_numbers(layout.at, out);
}

// Reads the layouts of calls.
class LayoutReader {
 public:
  // `attributes`: their number.
  LayoutReader(ByteReader& in, std::size_t attributes) : in_(in), attributes_(attributes) {}

  CallAttributes next() {
    CallAttributes layout;
    layout.fixed.resize(count());
    std::uint32_t least = 0;
    for (CallAttributes::Fixed& fixed : layout.fixed) {
      fixed.attribute = number(least);
      fixed.argument = Argument::read(in_);
      if (fixed.argument.mode != Mode::constant && fixed.argument.mode != Mode::by_rank) {
        throw FormatError("an attribute has an unknown encoding");
      }
    }
    read_numbers(layout.before);
    read_numbers(layout.at);
    return layout;
  }

 private:
  std::size_t count() {
    return static_cast<std::size_t>(in_.at_most(attributes_, "a number of attributes"));
  }
  // The next number, at least `least`, which is then set to the following one.
  std::uint32_t number(std::uint32_t& least) {
    const std::uint64_t number = in_.varint();
    if (number >= attributes_ || number < least) throw FormatError("an attribute is missing");
    least = static_cast<std::uint32_t>(number) + 1;
    return static_cast<std::uint32_t>(number);
  }
  void read_numbers(std::vector<std::uint32_t>& numbers) {
    numbers.resize(count());
    std::uint32_t least = 0;
    for (std::uint32_t& value : numbers) value = number(least);
  }

  ByteReader& in_;
  std::size_t attributes_;
};

}  // namespace

std::string Attribute::error_of_name(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto may_follow = [&](char c) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    return is_letter(c) || is_upper || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' ||
           c == '-';
  };
  if (name.empty() || !is_letter(name.front())) {
    return "the name of an attribute does not begin with a small letter";
  }
  if (name.size() > kMaxNameLength) return "the name of an attribute is too long";
  if (!std::all_of(name.begin(), name.end(), may_follow)) {
    return "the name of an attribute has a character that it cannot have";
  }
  return "";
}

std::string Attribute::error_of_text(std::string_view text) {
  if (text.size() > kMaxAttributeTextLength) return "a text of an attribute is too long";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      return "a text of an attribute has a character that is not printed";
    }
  }
  return "";
}

std::uint64_t attribute_code(AttributeKind kind, std::int64_t value, std::uint32_t rank) {
  return 1 + zigzag(kind == AttributeKind::rank ? value - std::int64_t{rank} : value);
}

std::int64_t attribute_value(AttributeKind kind, std::uint64_t code, std::uint32_t rank) {
  const std::int64_t value = unzigzag(code - 1);
  if (kind != AttributeKind::rank) return value;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) + rank);
}

void AttributeTables::number_sites(const TraceTables& tables) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> uses;  // pairs of kind and layout
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (std::size_t call = 0; call < classes[i].layout_of.size(); ++call) {
      const std::uint32_t kind = tables.kinds[tables.classes[i].signatures[call]];
      uses.emplace_back(kind, classes[i].layout_of[call]);
    }
  }
  std::sort(uses.begin(), uses.end());
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  std::vector<std::uint64_t> keys;
  for (const auto& use : uses) {
    const CallAttributes& layout = layouts[use.second];
    for (const std::uint32_t attribute : layout.before)
      keys.push_back(site_key(attribute, use.first, true));
    for (const std::uint32_t attribute : layout.at)
      keys.push_back(site_key(attribute, use.first, false));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  site_numbers_.clear();
  for (const std::uint64_t key : keys) {
    site_numbers_.emplace(key, static_cast<std::uint32_t>(site_numbers_.size()));
  }
}

std::uint32_t AttributeTables::site_of(std::uint32_t attribute, std::uint32_t kind,
                                       bool is_before) const {
  return site_numbers_.find(site_key(attribute, kind, is_before))->second;
}

void AttributeTables::write(Bytes& out) const {
  out.varint(attributes.size());
  for (const Attribute& attribute : attributes) {
    out.text(attribute.name);
    out.byte(static_cast<std::uint8_t>(attribute.kind));
  }
  out.varint(texts.size());
  for (const std::string& text : texts) out.text(text);
  out.varint(layouts.size());
  for (const CallAttributes& layout : layouts) write_layout(layout, out);
  for (const ClassAttributes& of_class : classes) {
    for (const std::uint32_t layout : of_class.layout_of) out.varint(layout);
    for (const RankVector& vector : of_class.vectors) vector.write(out);
  }
  write_coded(out);
}

void AttributeTables::read(ByteReader& in, const TraceTables& tables) {
  const std::size_t count = in.count("the number of attributes", 2);
  if (count > kMaxAttributes) throw FormatError("it has too many attributes");
  for (std::size_t i = 0; i < count; ++i) {
    Attribute attribute;
    attribute.name = std::string(in.text());
    const std::string error = Attribute::error_of_name(attribute.name);
    if (!error.empty()) throw FormatError(error);
    const std::uint8_t kind = in.byte();
    if (kind >= kAttributeKinds) throw FormatError("an attribute is of no known kind");
    attribute.kind = static_cast<AttributeKind>(kind);
    attributes.push_back(std::move(attribute));
  }
  const std::size_t texts_count = in.count("the number of texts");
  for (std::size_t i = 0; i < texts_count; ++i) {
    texts.emplace_back(in.text());
    const std::string error = Attribute::error_of_text(texts.back());
    if (!error.empty()) throw FormatError(error);
  }
  const std::size_t layouts_count = in.count("the number of layouts", 3);
  LayoutReader reader(in, attributes.size());
  for (std::size_t i = 0; i < layouts_count; ++i) layouts.push_back(reader.next());
  const RankPositions positions = positions_of(tables.class_of, tables.ranks,
                                               static_cast<std::uint32_t>(tables.classes.size()));
  for (std::size_t i = 0; i < tables.classes.size(); ++i) {
    ClassAttributes of_class;
    std::size_t vectors = 0;
    for (std::size_t left = tables.classes[i].signatures.size(); left > 0; --left) {
      const std::uint64_t number = in.varint();
      if (number >= layouts.size()) throw FormatError("a call has missing attributes");
      of_class.layout_of.push_back(static_cast<std::uint32_t>(number));
      for (const CallAttributes::Fixed& fixed : layouts[number].fixed) {
        if (fixed.argument.mode == Mode::by_rank) ++vectors;
      }
    }
    for (; vectors > 0; --vectors) {
      of_class.vectors.push_back(RankVector::read(in, positions.ranks[i].size()));
    }
    classes.push_back(std::move(of_class));
  }
  number_sites(tables);
  if (sites_count() > in.left()) throw FormatError("it has more sites than bytes");
  read_coded(in, sites_count(), tables.ranks);
  if (!in.at_end()) throw FormatError("its attributes are longer than declared");
}

}  // namespace tisim::tit
