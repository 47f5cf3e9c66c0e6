#include "timeline/names.hpp"

#include "trace/vocabulary/table.hpp"

namespace tisim {

namespace {

std::size_t place(Kind kind, int operation) {
  if (operation < 0) return static_cast<std::size_t>(kind);
  const std::size_t first = kind == Kind::icollective ? kKinds + kOperations : kKinds;
  return first + static_cast<std::size_t>(operation);
}

std::vector<std::string> make_names() {
  static_assert(kKinds + 2 * kOperations <= 256, "a name is a byte");
  std::vector<std::string> names(kKinds + 2 * kOperations);
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (!has_collective_call(kind) && kind != Kind::file) names[i] = traits_of(kind).name;
  }
  for (std::size_t i = kFirstFileCall; i < kOperations; ++i) {
    names[kKinds + i] = tisim::name_of(Kind::file, static_cast<Operation>(i));
  }
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const CollectiveTraits& collective = kCollectiveTraits[i];
    names[kKinds + i] = collective.name;
    names[kKinds + kOperations + i] = collective.non_blocking_name;
  }
  return names;
}

}  // namespace

std::uint8_t name_of(const ActionStart& action) {
  return static_cast<std::uint8_t>(place(static_cast<Kind>(action.kind), action.operation));
}

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names = make_names();
  return names;
}

}  // namespace tisim
