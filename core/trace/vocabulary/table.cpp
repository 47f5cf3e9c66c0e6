#include "trace/vocabulary/table.hpp"

#include <stdexcept>
#include <string>

namespace tisim {

namespace {

constexpr bool all_are_complete() {
  for (const KindTraits& kind : kKindTraits) {
    if (kind.name.empty() || (kind.form != Form::none && kind.usage.empty())) return false;
  }
  for (const CollectiveTraits& collective : kCollectiveTraits) {
    if (collective.usage.empty() || collective.request_tag >= 0) return false;
  }
  for (const FileTraits& call : kFileTraits) {
    if (call.usage.empty()) return false;
  }
  return true;
}
static_assert(all_are_complete(), "a row lacks its name, its usage or the tag of its request");

}  // namespace

std::string_view name_of(Kind kind, Operation operation) {
  if (kind == Kind::file && is_file_call(operation)) {
    return file_traits_of(operation).name;
  }
  if (kind == Kind::window && is_window_call(operation)) return window_traits_of(operation).name;
  if (!has_collective_call(kind)) return traits_of(kind).name;
  const CollectiveTraits& collective = traits_of(operation);
  return kind == Kind::collective ? collective.name : collective.non_blocking_name;
}

Kind checked_kind(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(kKinds)) {
    throw std::out_of_range("no kind of operation " + std::to_string(number));
  }
  return static_cast<Kind>(number);
}

Operation checked_operation(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(kOperations)) {
    throw std::out_of_range("no operation of calls " + std::to_string(number));
  }
  return static_cast<Operation>(number);
}

}  // namespace tisim
