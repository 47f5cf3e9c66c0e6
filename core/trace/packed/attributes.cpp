#include "trace/packed/attributes.hpp"

#include <algorithm>
#include <utility>

#include "trace/tit/codec/bytes.hpp"

namespace tisim {

PackedAttributes::PackedAttributes(tit::AttributeTables tables, std::uint64_t values_offset,
                                   std::uint64_t values_size)
    : tables_(std::move(tables)),
      sites_(sites_of(tables_)),
      offsets_(column_offsets(tables_.columns, values_offset, values_size)) {}

std::optional<std::uint32_t> PackedAttributes::number_of(std::string_view name) const {
  for (std::uint32_t i = 0; i < tables_.attributes.size(); ++i) {
    if (tables_.attributes[i].name == name) return i;
  }
  return std::nullopt;
}

AttributeWalk::AttributeWalk(const PackedFile& file, std::int32_t rank)
    : file_(&file),
      attributes_(file.attributes()),
      class_(&file.program(file.class_of(rank)).rank_class()),
      rank_(rank),
      class_number_(file.class_of(rank)),
      expansion_(class_->grammar),
      column_(file, file.column_of(rank)),
      attribute_column_(file, attributes_->column_of(rank)) {
  auto vector = attributes_->tables().classes[class_number_].vectors.begin();
  for (std::uint32_t call = 0; call < class_->signatures.size(); ++call) {
    places_.push_back(make(call, vector));
  }
}

AttributeWalk::Place AttributeWalk::make(
    std::uint32_t call, std::vector<tit::RankVector>::const_iterator& vector) const {
  const tit::TraceTables& tables = file_->tables();
  const tit::AttributeTables& attributes = attributes_->tables();
  const std::uint32_t number = class_->signatures[call];
  const tit::Signature& signature = tables.signatures[number];
  const std::vector<tit::Hole>& holes = tables.shapes[signature.shape].holes;
  const std::uint32_t position = file_->position_of(rank_);
  Place place;
  place.kind = tables.kinds[number];
  place.is_silent = signature.shape == tit::kSilentShape;
  std::vector<std::int64_t> numbers;
  file_->program(class_number_).numbers(call, position, numbers);
  for (std::size_t i = 0; i < holes.size(); ++i) {
    if (signature.arguments[i].mode == tit::Mode::column) place.has_columns = true;
    if (holes[i].mark == tit::kStepMark) place.step = static_cast<std::uint64_t>(numbers[i]);
  }
  const tit::CallAttributes& layout = attributes.of_call(class_number_, call);
  for (const std::uint32_t one : layout.before) {
    place.before_sites.push_back(attributes.site_of(one, place.kind, true));
  }
  for (const std::uint32_t one : layout.at) {
    place.at_sites.push_back(attributes.site_of(one, place.kind, false));
  }
  for (const tit::CallAttributes::Fixed& fixed : layout.fixed) {
    const bool is_by_rank = fixed.argument.mode == tit::Mode::by_rank;
    const std::int64_t value = is_by_rank ? (vector++)->at(position, rank_) : fixed.argument.value;
    place.fixed.push_back(checked({fixed.attribute, value}));
  }
  return place;
}

AttributeWalk::Value AttributeWalk::checked(Value value) const {
  const tit::AttributeTables& tables = attributes_->tables();
  if (tables.attributes[value.attribute].kind == tit::AttributeKind::text &&
      static_cast<std::uint64_t>(value.value) >= tables.texts.size()) {
    file_->damaged("a text that an attribute names is not there");
  }
  return value;
}

bool AttributeWalk::take(const std::vector<std::uint32_t>& attributes,
                         const std::vector<std::uint32_t>& sites, std::vector<Value>& values) {
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const PackedFile::Site& site = attributes_->site(sites[i]);
    const std::uint64_t code = site.varies ? attribute_column_.next(site.model) : site.value;
    if (code == 0) continue;
    const tit::AttributeKind kind = attributes_->tables().attributes[attributes[i]].kind;
    const std::int64_t value = tit::attribute_value(kind, code, static_cast<std::uint32_t>(rank_));
    values.push_back(checked({attributes[i], value}));
  }
  return !values.empty();
}

bool AttributeWalk::pass(std::uint32_t call, const Place& place, std::uint64_t& step) {
  if (!class_->has_volumes && !place.has_columns) return false;
  std::uint32_t number = file_->site_table().find(before_, place.kind);
  if (number == tit::SiteTable::kNone) {
    if (place.has_columns) file_->damaged("a call has no place for its values");
    return false;
  }
  const auto value_at = [&](std::uint32_t at) {
    const PackedFile::Site& site = file_->site(at);
    return site.varies ? column_.next(site.model) : site.value;
  };
  bool computes = false;
  if (class_->has_volumes) {
    computes = (file_->draws_volumes() ? file_->drawn_volume(number, rank_, calls_)
                                       : value_at(number)) != 0;
  }
  if (!place.has_columns) return computes;
  const tit::TraceTables& tables = file_->tables();
  const tit::Signature& signature = tables.signatures[class_->signatures[call]];
  const std::vector<tit::Hole>& holes = tables.shapes[signature.shape].holes;
  for (std::size_t i = 0; i < holes.size(); ++i) {
    if (signature.arguments[i].mode != tit::Mode::column) continue;
    const std::uint64_t value = value_at(++number);
    if (holes[i].mark == tit::kStepMark) step = static_cast<std::uint64_t>(tit::unzigzag(value));
  }
  return computes;
}

bool AttributeWalk::repeats(std::uint32_t attribute) {
  constexpr std::int64_t kNotMet = -2, kNone = -1;
  std::vector<std::int64_t> known(places_.size(), kNotMet);
  std::uint32_t call = 0;
  while (expansion_.next(call)) {
    const Place& place = places_[call];
    const tit::CallAttributes& layout = attributes_->tables().of_call(class_number_, call);
    values_.clear();
    take(layout.before, place.before_sites, values_);
    values_.clear();
    take(layout.at, place.at_sites, values_);
    std::int64_t found = kNone;
    for (const Value& value : values_) {
      if (value.attribute == attribute) found = value.value;
    }
    if (known[call] == kNotMet) known[call] = found;
    if (known[call] != found) return false;
  }
  return true;
}

bool AttributeWalk::next() {
  values_.clear();
  if (waiting_line_ > 0) {
    line_ = std::exchange(waiting_line_, 0);
    values_.swap(waiting_);
    return true;
  }
  std::uint32_t call = 0;
  while (expansion_.next(call)) {
    const Place& place = places_[call];
    const tit::CallAttributes& layout = attributes_->tables().of_call(class_number_, call);
    std::uint64_t step = place.step;
    const bool computes = pass(call, place, step);
    before_ = place.kind + 1;
    ++calls_;
    bool has_some = false;
    if (computes) line_ = ++number_;
    if (take(layout.before, place.before_sites, values_)) {
      if (!computes) file_->damaged("a computation with attributes is not there");
      has_some = true;
    }
    if (!place.is_silent) number_ += step;
    std::vector<Value>& at = has_some ? waiting_ : values_;
    at.assign(place.fixed.begin(), place.fixed.end());
    if (take(layout.at, place.at_sites, at)) {
      (has_some ? waiting_line_ : line_) = number_;
      has_some = true;
    }
    if (has_some) return true;
  }
  return false;
}

}  // namespace tisim
