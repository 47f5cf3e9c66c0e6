// Which calls are of one kind.
#include <algorithm>
#include <numeric>

#include "trace/tit/file/tables.hpp"

namespace tisim {
namespace tit {

namespace {

// A number that makes a call of another kind than another one, and the hole that it stands in.
struct KindPart {
  std::size_t hole = 0;
  std::int64_t value = 0;
  bool is_column = false;  // any number

  int compare(const KindPart& other) const {
    if (hole != other.hole) return hole < other.hole ? -1 : 1;
    if (is_column != other.is_column) return is_column ? -1 : 1;
    if (value != other.value) return value < other.value ? -1 : 1;
    return 0;
  }
};

}  // namespace

void TraceTables::number_kinds() {
  // What makes the kind of a call beside its shape, number by number; false at the end.
  const auto next = [this](std::uint32_t call, std::size_t& at, KindPart& part) {
    const Signature& signature = signatures[call];
    const Shape& shape = shapes[signature.shape];
    for (; at < signature.arguments.size(); ++at) {
      const Argument& argument = signature.arguments[at];
      const bool is_column = argument.mode == Mode::column;
      const bool is_said = argument.mode == Mode::constant && at < kMostKindArguments &&
                           shape.holes[at].mark == kNumberMark && !shape.is_rank(at);
      if (!is_column && !is_said) continue;
      part = {at++, is_column ? std::int64_t{-1} : argument.value, is_column};
      return true;
    }
    return false;
  };
  const auto compare = [&](std::uint32_t one, std::uint32_t other) {
    if (signatures[one].shape != signatures[other].shape) {
      return signatures[one].shape < signatures[other].shape ? -1 : 1;
    }
    KindPart part;
    KindPart other_part;
    for (std::size_t at = 0, other_at = 0;;) {
      const bool has_part = next(one, at, part);
      if (has_part != next(other, other_at, other_part)) return has_part ? 1 : -1;
      if (!has_part) return 0;
      const int order = part.compare(other_part);
      if (order != 0) return order;
    }
  };
  std::vector<std::uint32_t> sorted(signatures.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  // Equal ones in their order: the first of them stands first.
  std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t one, std::uint32_t other) {
    const int order = compare(one, other);
    return order != 0 ? order < 0 : one < other;
  });
  kinds.assign(signatures.size(), 0);
  for (std::size_t i = 0, first = 0; i < sorted.size(); ++i) {
    if (compare(sorted[first], sorted[i]) != 0) first = i;
    kinds[sorted[i]] = sorted[first];
  }
  // Up to now the number of the first call of the kind.
  kinds_count = 0;
  for (std::uint32_t call = 0; call < kinds.size(); ++call) {
    kinds[call] = kinds[call] == call ? kinds_count++ : kinds[kinds[call]];
  }
}

}  // namespace tit
}  // namespace tisim
