#include "timeline/names.hpp"

#include "trace/vocabulary/op.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

namespace {

constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::custom) + 1;
constexpr std::size_t kOperations = static_cast<std::size_t>(Operation::custom) + 1;

std::size_t place(Kind kind, int operation) {
  if (operation < 0 || (kind != Kind::collective && kind != Kind::icollective)) {
    return static_cast<std::size_t>(kind);
  }
  const std::size_t first = kind == Kind::collective ? kKinds : kKinds + kOperations;
  return first + static_cast<std::size_t>(operation);
}

std::vector<std::string> make_names() {
  std::vector<std::string> names(kKinds + 2 * kOperations);
  for (const Action& action : known_actions()) {
    const bool collective = action.form == Form::collective;
    std::string& name =
        names[place(action.kind, collective ? static_cast<int>(action.operation) : -1)];
    if (name.empty()) name = action.name;
  }
  names[static_cast<std::size_t>(Kind::nop)] = "nop";
  names[static_cast<std::size_t>(Kind::end)] = "no action";  // before the first, after the last
  names[static_cast<std::size_t>(Kind::recv_half)] = "recv";
  names[static_cast<std::size_t>(Kind::wait_last)] = "wait";
  names[static_cast<std::size_t>(Kind::test_last)] = "test";
  names[static_cast<std::size_t>(Kind::wait_icollective)] = "wait";
  names[static_cast<std::size_t>(Kind::custom)] = "custom";
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
