#include "trace/packed/calls.hpp"

#include <optional>

namespace tisim {

PackedCalls::PackedCalls(const PackedFile& file, std::int32_t rank, bool with_attributes)
    : file_(&file),
      attributes_(with_attributes ? file.attributes() : nullptr),
      class_(&file.program(file.class_of(rank)).rank_class()),
      rank_(rank),
      expansion_(class_->grammar),
      column_(file, file.column_of(rank)),
      attribute_column_(file,
                        attributes_ == nullptr ? ColumnLocation{} : attributes_->column_of(rank)),
      states_(class_->signatures.size()) {
  const tit::TraceTables& tables = file.tables();
  for (std::uint32_t call = 0; call < states_.size(); ++call) {
    CallState& state = states_[call];
    const tit::Signature& signature = tables.signatures[class_->signatures[call]];
    const std::vector<tit::Hole>& holes = tables.shapes[signature.shape].holes;
    state.shape = signature.shape;
    state.kind = tables.kinds[class_->signatures[call]];
    file.program(file.class_of(rank)).numbers(call, file.position_of(rank), state.numbers);
    for (std::size_t i = 0; i < holes.size(); ++i) {
      if (signature.arguments[i].mode == tit::Mode::column) state.has_columns = true;
      if (holes[i].mark == tit::kStepMark) {
        state.step = static_cast<std::uint64_t>(state.numbers[i]);
      }
    }
  }
  if (attributes_ != nullptr) find_attributes();
}

void PackedCalls::find_attributes() {
  const tit::AttributeTables& tables = attributes_->tables();
  const tit::ClassAttributes& of_class = tables.classes[file_->class_of(rank_)];
  const std::uint32_t position = file_->position_of(rank_);
  auto vector = of_class.vectors.begin();
  for (std::uint32_t call = 0; call < states_.size(); ++call) {
    CallState& state = states_[call];
    state.layout = &tables.layouts[of_class.layout_of[call]];
    for (const std::uint32_t attribute : state.layout->before) {
      state.before_sites.push_back(tables.site_of(attribute, state.kind, true));
    }
    for (const std::uint32_t attribute : state.layout->at) {
      state.at_sites.push_back(tables.site_of(attribute, state.kind, false));
    }
    for (const tit::CallAttributes::Fixed& fixed : state.layout->fixed) {
      const bool is_by_rank = fixed.argument.mode == tit::Mode::by_rank;
      const std::int64_t value =
          is_by_rank ? (vector++)->at(position, rank_) : fixed.argument.value;
      state.fixed.push_back(checked({fixed.attribute, value}));
    }
  }
}

PackedAttribute PackedCalls::checked(PackedAttribute value) const {
  const tit::AttributeTables& tables = attributes_->tables();
  if (tables.attributes[value.attribute].kind == tit::AttributeKind::text &&
      static_cast<std::uint64_t>(value.value) >= tables.texts.size()) {
    file_->damaged("a text of an attribute is missing");
  }
  return value;
}

std::uint64_t PackedCalls::value_at(std::uint32_t site) {
  const PackedFile::Site& value_site = file_->site(site);
  return value_site.varies ? column_.next(value_site.model) : value_site.value;
}

// `site`: the first site of the call, that of the volume before it.
void PackedCalls::take_numbers(CallState& state, std::uint32_t site) {
  const tit::TraceTables& tables = file_->tables();
  const tit::Signature& signature = tables.signatures[class_->signatures[call_]];
  const std::vector<tit::Hole>& holes = tables.shapes[signature.shape].holes;
  for (std::size_t i = 0; i < holes.size(); ++i) {
    if (signature.arguments[i].mode == tit::Mode::column) {
      state.numbers[i] = file_->argument_of(holes[i], value_at(++site));
    }
    if (holes[i].mark == tit::kStepMark) state.step = static_cast<std::uint64_t>(state.numbers[i]);
  }
}

void PackedCalls::take(const std::vector<std::uint32_t>& attributes,
                       const std::vector<std::uint32_t>& sites,
                       std::vector<PackedAttribute>& values) {
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const PackedFile::Site& site = attributes_->site(sites[i]);
    const std::uint64_t code = site.varies ? attribute_column_.next(site.model) : site.value;
    if (code == 0) continue;
    const tit::AttributeKind kind = attributes_->tables().attributes[attributes[i]].kind;
    const std::int64_t value = tit::attribute_value(kind, code, static_cast<std::uint32_t>(rank_));
    values.push_back(checked({attributes[i], value}));
  }
}

bool PackedCalls::next() {
  volume_ = 0;
  if (!expansion_.next(call_)) return false;
  CallState& state = states_[call_];
  if (class_->has_volumes || state.has_columns) {
    const std::uint32_t site = file_->site_table().find(before_, state.kind);
    if (site != tit::SiteTable::kNone) {
      if (class_->has_volumes) {
        volume_ =
            file_->draws_volumes() ? file_->drawn_volume(site, rank_, calls_) : value_at(site);
      }
      if (state.has_columns) take_numbers(state, site);
    } else if (state.has_columns) {
      file_->damaged("a call has no room for its values");
    }
  }
  before_ = state.kind + 1;
  ++calls_;
  if (volume_ != 0) line_before_ = ++line_;
  if (!is_silent()) line_ += state.step;
  if (attributes_ == nullptr) return true;
  before_values_.clear();
  take(state.layout->before, state.before_sites, before_values_);
  if (!before_values_.empty() && volume_ == 0) {
    file_->damaged("a computation with attributes is missing");
  }
  at_values_.assign(state.fixed.begin(), state.fixed.end());
  take(state.layout->at, state.at_sites, at_values_);
  return true;
}

bool AttributeWalk::next() {
  if (is_before_) {
    is_before_ = false;
    if (!calls_.at().empty()) return true;
  }
  while (calls_.next()) {
    is_before_ = !calls_.before().empty();
    if (is_before_ || !calls_.at().empty()) return true;
  }
  return false;
}

bool repeats_attribute(const PackedFile& file, std::int32_t rank, std::uint32_t attribute) {
  constexpr std::int64_t kNone = -1;
  PackedCalls calls(file, rank, true);
  std::vector<std::optional<std::int64_t>> known;  // by position in the class
  while (calls.next()) {
    std::int64_t current = kNone;
    for (const PackedAttribute& value : calls.at()) {
      if (value.attribute == attribute) current = value.value;
    }
    if (known.size() <= calls.call_index()) known.resize(calls.call_index() + std::size_t{1});
    if (!known[calls.call_index()]) known[calls.call_index()] = current;
    if (known[calls.call_index()] != current) return false;
  }
  return true;
}

}  // namespace tisim
