#include "trace/tit/recorder/recorded_shape.hpp"

#include <utility>

namespace tisim {
namespace tit {

namespace {

void write_attributes(const std::vector<std::uint32_t>& attributes, Bytes& out) {
  out.varint(attributes.size());
  for (const std::uint32_t attribute : attributes) out.varint(attribute);
}

std::vector<std::uint32_t> read_attributes(ByteReader& in) {
  std::vector<std::uint32_t> attributes(in.count("a number of attributes"));
  for (std::uint32_t& attribute : attributes) {
    attribute = static_cast<std::uint32_t>(in.at_most(kMostAttributes - 1, "an attribute"));
  }
  return attributes;
}

}  // namespace

std::string RecordedShape::fault_of(std::string_view text) {
  constexpr std::size_t kLongestText = 1 << 20;
  if (text.empty()) return "a line has no text";
  if (text.size() > kLongestText) return "a line is too long";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      return "a line has a character that is not printed";
    }
  }
  return "";
}

RecordedShape RecordedShape::of(std::string_view text, std::uint64_t rank_holes) {
  RecordedShape shape;
  shape.text = std::string(text);
  shape.rank_holes = rank_holes;
  if (shape.is_comment()) return shape;
  for (std::size_t at = text.find('{'); at < text.size(); at = text.find('{', at + 1)) {
    const bool is_volume = text.substr(at, kVolumeHole.size()) == kVolumeHole;
    const bool is_number = text.substr(at, kNumberHole.size()) == kNumberHole;
    if (is_volume || is_number) shape.is_volume.push_back(is_volume);
  }
  return shape;
}

RecordedShape RecordedShape::with(std::vector<std::uint32_t> fixed_attributes,
                                  std::vector<std::uint32_t> streamed_attributes) const {
  RecordedShape shape = *this;
  shape.fixed = std::move(fixed_attributes);
  shape.streamed = std::move(streamed_attributes);
  return shape;
}

void RecordedShape::write(Bytes& out) const {
  out.text(text);
  out.varint(rank_holes);
  write_attributes(fixed, out);
  write_attributes(streamed, out);
}

RecordedShape RecordedShape::read(ByteReader& in) {
  const std::string_view text = in.text();
  const std::string fault = fault_of(text);
  if (!fault.empty()) throw FormatError(fault);
  const std::uint64_t rank_holes = in.varint();
  std::vector<std::uint32_t> fixed = read_attributes(in);
  return of(text, rank_holes).with(std::move(fixed), read_attributes(in));
}

}  // namespace tit
}  // namespace tisim
