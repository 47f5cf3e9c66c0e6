#include "trace/inspect/class_counter.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "trace/packed/calls.hpp"
#include "trace/tit/file/volume_code.hpp"
#include "trace/tit/grammar/grammar.hpp"

namespace tisim {

namespace {

// The call paths of one class.
class ClassPaths {
 public:
  ClassPaths(const PackedFile& file, std::uint32_t rank_class)
      : file_(file), attributes_(file.attributes()), class_(rank_class) {
    if (attributes_ != nullptr) site_ = attributes_->number_of(kCallSiteAttribute);
  }

  std::string_view of(std::uint32_t call) const {
    if (!site_) return {};
    const tit::AttributeTables& tables = attributes_->tables();
    for (const tit::CallAttributes::Fixed& fixed : tables.of_call(class_, call).fixed) {
      if (fixed.attribute != *site_ || fixed.argument.mode != tit::Mode::constant) continue;
      const auto number = static_cast<std::uint64_t>(fixed.argument.value);
      if (tables.attributes[*site_].kind != tit::AttributeKind::text) return {};
      if (number >= tables.texts.size()) {
        file_.damaged("a text of an attribute is missing");
      }
      return tables.texts[static_cast<std::size_t>(number)];
    }
    return {};
  }

 private:
  const PackedFile& file_;
  const PackedAttributes* attributes_;
  std::uint32_t class_;
  std::optional<std::uint32_t> site_;
};

}  // namespace

CallSites::CallSites(const PackedFile& file) {
  const tit::TraceTables& tables = file.tables();
  std::map<std::pair<std::uint32_t, std::string_view>, std::size_t> known;
  for (std::uint32_t i = 0; i < tables.classes.size(); ++i) {
    const ClassPaths paths(file, i);
    numbers_.emplace_back();
    const std::vector<std::uint32_t>& signatures = tables.classes[i].signatures;
    for (std::uint32_t call = 0; call < signatures.size(); ++call) {
      const std::pair<std::uint32_t, std::string_view> site{tables.kinds[signatures[call]],
                                                            paths.of(call)};
      const auto made = known.emplace(site, sites_.size());
      if (made.second) sites_.push_back(site);
      numbers_.back().push_back(made.first->second);
    }
  }
}

ClassCounter::ClassCounter(const PackedFile& file, std::uint32_t rank_class, CallReader& reader,
                           const CallSites& sites, Statistics& into)
    : file_(file),
      number_(rank_class),
      sites_(sites),
      tables_(file.tables()),
      class_(tables_.classes[rank_class]),
      program_(file.program(rank_class)),
      ranks_(file.ranks_of(rank_class)),
      reader_(reader),
      into_(into),
      uses_(class_.signatures.size()) {
  for (std::uint32_t call = 0; call < uses_.size(); ++call) {
    const tit::Signature& call_signature = tables_.signatures[signature(call)];
    uses_[call].same = is_same_on_all_ranks(tables_, call_signature);
    uses_[call].columns = has_columns(call_signature);
  }
  for (std::uint32_t position = 0; position < ranks_.size(); ++position) {
    const tit::RankColumn* column = file_.column_of(ranks_[position]).column;
    const bool varies = column != nullptr && (file_.draws_volumes() || !column->blocks.empty());
    (varies ? with_values_ : without_values_).push_back(position);
  }
}

// The site of a call; calls without a line belong to the end.
std::size_t ClassCounter::site(std::uint32_t call) const {
  if (tables_.signatures[signature(call)].shape == tit::kSilentShape) return sites_.end();
  return sites_.of(number_, call);
}

const CallMeaning& ClassCounter::meaning(std::uint32_t call, bool double_default) {
  std::optional<CallMeaning>& known = uses_[call].meanings[double_default ? 1 : 0];
  if (!known) {
    program_.numbers(call, 0, numbers_);
    known = reader_.read(signature(call), numbers_, ranks_.front(), double_default);
  }
  return *known;
}

void ClassCounter::count() {
  std::vector<DefaultTypeEffect> effects;
  for (std::uint32_t call = 0; call < uses_.size(); ++call) {
    effects.push_back(meaning(call, false).effect);
  }
  const std::vector<CallContext> contexts = contexts_of(class_.grammar, effects);
  for (const CallContext& context : contexts) {
    uses_[context.call].times[context.double_default ? 1 : 0] += context.times;
  }
  for (std::uint32_t call = 0; call < uses_.size(); ++call) {
    const CallUse& use = uses_[call];
    for (const bool doubles : {false, true}) {
      const std::uint64_t times = use.times[doubles ? 1 : 0] * ranks_.size();
      if (times == 0) continue;
      const CallMeaning& call_meaning = meaning(call, doubles);
      into_.count_call(site(call), call_meaning, times);
      if (use.same && !use.columns) into_.measure_call(site(call), call_meaning, times);
    }
    if (!use.same && !use.columns) count_by_rank(call);
  }
  count_computations(contexts);
  for (const std::uint32_t position : with_values_) {
    into_.count_computations(file_.column_of(ranks_[position]).column->volumes);
  }
  count_constant_columns(contexts);
}

bool ClassCounter::starts_requests() const {
  return std::any_of(uses_.begin(), uses_.end(), [](const CallUse& use) {
    const std::string& action = use.meanings[0]->action;
    return action == traits_of(Kind::start).name || action == traits_of(Kind::startall).name;
  });
}

bool ClassCounter::has_same_requests() const {
  return std::none_of(uses_.begin(), uses_.end(), [](const CallUse& use) {
    const bool is_persistent = use.meanings[0]->action.ends_with("_init");
    return is_persistent && (!use.same || use.columns);
  });
}

// Counts the sizes of a call that differ between ranks. Ranks that differ only in peers are parsed
// together.
void ClassCounter::count_by_rank(std::uint32_t call) {
  constexpr std::size_t kMaxKept = 4096;
  if (meaning(call, false).role != CallMeaning::Role::action) return;
  const tit::Shape& shape = tables_.shapes[tables_.signatures[signature(call)].shape];
  std::map<std::vector<std::int64_t>, std::pair<std::uint32_t, std::uint64_t>> groups;
  const auto take_all = [&] {
    for (const auto& [key, group] : groups) {
      const auto [position, ranks] = group;
      program_.numbers(call, position, numbers_);
      for (const bool doubles : {false, true}) {
        const std::uint64_t times = uses_[call].times[doubles ? 1 : 0];
        if (times == 0) continue;
        const std::int32_t rank = ranks_[position];
        const CallMeaning call_meaning = reader_.read(signature(call), numbers_, rank, doubles);
        into_.measure_call(site(call), call_meaning, times * ranks);
      }
    }
    groups.clear();
  };
  std::vector<std::int64_t> key;
  for (std::uint32_t position = 0; position < ranks_.size(); ++position) {
    program_.numbers(call, position, numbers_);
    key.clear();
    for (std::size_t hole = 0; hole < numbers_.size(); ++hole) {
      // Only negative peers matter: they are special values.
      const std::int64_t number = numbers_[hole];
      key.push_back(shape.is_rank(hole) ? std::min<std::int64_t>(number, 0) : number);
    }
    ++groups.emplace(key, std::make_pair(position, std::uint64_t{0})).first->second.second;
    if (groups.size() == kMaxKept) take_all();
  }
  take_all();
}

// Counts computations that are calls of the grammar: each belongs to the call after it.
void ClassCounter::count_computations(const std::vector<CallContext>& contexts) {
  const auto is_computation = [&](std::uint32_t call) {
    return !uses_[call].columns && meaning(call, false).role == CallMeaning::Role::computation;
  };
  for (const CallContext& context : contexts) {
    if (context.before == 0 || !is_computation(context.before - 1)) continue;
    take_computation(context.before - 1, site(context.call), context.times);
  }
  const std::uint32_t last = last_call_of(class_.grammar);
  if (last > 0 && is_computation(last - 1)) take_computation(last - 1, sites_.end(), 1);
}

void ClassCounter::take_computation(std::uint32_t call, std::size_t site, std::uint64_t times) {
  if (uses_[call].same) {
    into_.take_volume(site, meaning(call, false).amount, times * ranks_.size());
    return;
  }
  const bool is_plain = tables_.signatures[signature(call)].shape == tit::kComputeShape;
  for (std::uint32_t position = 0; position < ranks_.size(); ++position) {
    program_.numbers(call, position, numbers_);
    double amount = 0;
    if (is_plain) {
      const auto code = static_cast<std::uint64_t>(numbers_[0]);
      if (!tit::is_volume_code(code)) file_.damaged("a volume is invalid");
      amount = tit::volume_value(code);
    } else {
      amount = reader_.read(signature(call), numbers_, ranks_[position], false).amount;
    }
    into_.take_volume(site, amount, times);
  }
}

std::uint32_t ClassCounter::first_site(std::uint32_t before, std::uint32_t call) const {
  const std::uint32_t kind = before == 0 ? 0 : tables_.kinds[signature(before - 1)] + 1;
  return file_.site_table().find(kind, tables_.kinds[signature(call)]);
}

// Counts column values that never change; the tables contain them once per context.
void ClassCounter::count_constant_columns(const std::vector<CallContext>& contexts) {
  if (without_values_.empty()) return;
  for (const CallContext& context : contexts) {
    const CallUse& use = uses_[context.call];
    if (!class_.has_volumes && !use.columns) continue;
    std::uint32_t place = first_site(context.before, context.call);
    if (place == tit::SiteTable::kNone) {
      if (use.columns) file_.damaged("a call has no room for its values");
      continue;
    }
    const auto value = [&](std::uint32_t at) {
      if (file_.site(at).varies) file_.damaged("the column of a rank ends too early");
      return file_.site(at).value;
    };
    if (class_.has_volumes && value(place) > 0) {
      const std::uint64_t times = context.times * without_values_.size();
      into_.count_computations(times);
      into_.take_volume(site(context.call), file_.amount_of(value(place)), times);
    }
    if (!use.columns) continue;
    const tit::Signature& call_signature = tables_.signatures[signature(context.call)];
    const std::vector<tit::Hole>& holes = tables_.shapes[call_signature.shape].holes;
    for (const std::uint32_t position : without_values_) {
      program_.numbers(context.call, position, numbers_);
      std::uint32_t argument = place;
      for (std::size_t i = 0; i < numbers_.size(); ++i) {
        if (call_signature.arguments[i].mode != tit::Mode::column) continue;
        numbers_[i] = file_.argument_of(holes[i], value(++argument));
      }
      const CallMeaning call_meaning =
          reader_.read(signature(context.call), numbers_, ranks_[position], context.double_default);
      if (call_meaning.role == CallMeaning::Role::computation) {
        into_.take_volume(site(context.call), call_meaning.amount, context.times);
      } else {
        into_.measure_call(site(context.call), call_meaning, context.times);
      }
    }
  }
}

void ClassCounter::read_column(std::uint32_t position) {
  const std::int32_t rank = ranks_[position];
  PackedCalls calls(file_, rank, false);
  bool doubles = false;
  std::optional<double> pending;  // a computation followed by its call
  while (calls.next()) {
    const std::uint32_t call = calls.call_index();
    const CallUse& use = uses_[call];
    if (pending) into_.take_volume(site(call), *pending, 1);
    pending.reset();
    if (calls.volume() > 0) into_.take_volume(site(call), file_.amount_of(calls.volume()), 1);
    const DefaultTypeEffect effect = use.meanings[0]->effect;
    if (effect != DefaultTypeEffect::kept) doubles = effect == DefaultTypeEffect::doubles;
    if (!use.columns) continue;
    const CallMeaning call_meaning = reader_.read(signature(call), calls.numbers(), rank, doubles);
    if (call_meaning.role == CallMeaning::Role::computation) {
      pending = call_meaning.amount;
    } else {
      into_.measure_call(site(call), call_meaning, 1);
    }
  }
  if (pending) into_.take_volume(sites_.end(), *pending, 1);
}

}  // namespace tisim
