#include "trace/vocabulary/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tisim {

namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

#define TISIM_COUNT(...) +1
constexpr std::size_t kMarkers = TISIM_MARKERS(TISIM_COUNT);
#undef TISIM_COUNT

constexpr std::size_t count_actions() {
  std::size_t count = kMarkers + 2 * kCollectives + kFileCalls + kWindowCalls;
  for (const KindTraits& kind : kKindTraits) count += kind.form != Form::none ? 1 : 0;
  return count;
}

// The rows of the table as actions.
constexpr auto list_actions() {
  std::array<Action, count_actions()> actions{};
  std::size_t count = 0;
#define TISIM_MARKER(word, ...) actions[count++] = Action{.name = #word, __VA_ARGS__};
  TISIM_MARKERS(TISIM_MARKER)
#undef TISIM_MARKER
  for (std::size_t i = 0; i < kKinds; ++i) {
    const KindTraits& kind = kKindTraits[i];
    if (kind.form == Form::none) continue;
    actions[count++] = {.name = kind.name,
                        .form = kind.form,
                        .kind = static_cast<Kind>(i),
                        .operation = kind.operation,
                        .usage = kind.usage,
                        .legacy_usage = kind.legacy_usage,
                        .effect = kind.effect};
  }
  for (std::size_t i = 0; i < kFileCalls; ++i) {
    actions[count++] = {.name = kFileTraits[i].name,
                        .form = Form::file,
                        .kind = Kind::file,
                        .operation = static_cast<Operation>(kFirstFileCall + i),
                        .usage = kFileTraits[i].usage,
                        .effect = kFileTraits[i].effect};
  }
  for (std::size_t i = 0; i < kWindowCalls; ++i) {
    actions[count++] = {.name = kWindowTraits[i].name,
                        .form = Form::window,
                        .kind = Kind::window,
                        .operation = static_cast<Operation>(kFirstWindowCall + i),
                        .usage = usage_of(kWindowTraits[i].form),
                        .effect = kWindowTraits[i].effect};
  }
  for (const bool blocking : {true, false}) {
    for (std::size_t i = 0; i < kCollectives; ++i) {
      const CollectiveTraits& collective = kCollectiveTraits[i];
      actions[count++] = {.name = blocking ? collective.name : collective.non_blocking_name,
                          .form = Form::collective,
                          .kind = blocking ? Kind::collective : Kind::icollective,
                          .operation = static_cast<Operation>(i),
                          .usage = collective.usage,
                          .effect = collective.effect};
    }
  }
  return actions;
}

constexpr auto kActions = list_actions();

// Names of at most 24 characters as three numbers, in lower case.
struct Key {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t rest = 0;

  friend constexpr bool operator==(const Key&, const Key&) = default;
};

constexpr std::size_t kMaxNameLength = 24;

constexpr Key key_of(std::string_view word) {
  Key key;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto c = static_cast<std::uint64_t>(static_cast<unsigned char>(lower(word[i])));
    if (i < 8) {
      key.low |= c << (8 * i);
    } else if (i < 16) {
      key.high |= c << (8 * (i - 8));
    } else {
      key.rest |= c << (8 * (i - 16));
    }
  }
  return key;
}

constexpr std::size_t kSlots = 512;

constexpr std::size_t slot_of(const Key& key) {
  return static_cast<std::size_t>(
      ((key.low ^ (key.high << 7) ^ (key.rest << 13)) * 0x9e3779b97f4a7c15U) >> 55);
}

static_assert(2 * kActions.size() < kSlots);

struct Index {
  std::array<Key, kSlots> keys{};
  std::array<std::uint8_t, kSlots> action{};  // number in kActions plus 1, 0: free

  constexpr Index() {
    for (std::size_t i = 0; i < kActions.size(); ++i) {
      if (kActions[i].name.size() > kMaxNameLength) throw "a name is too long for a key";
      const Key key = key_of(kActions[i].name);
      std::size_t at = slot_of(key);
      while (action[at] != 0) at = (at + 1) % kSlots;
      keys[at] = key;
      action[at] = static_cast<std::uint8_t>(i + 1);
    }
  }
};

constexpr Index kIndex;

const Action* find_known(std::string_view word) {
  if (word.size() > kMaxNameLength) return nullptr;
  const Key key = key_of(word);
  for (std::size_t at = slot_of(key); kIndex.action[at] != 0; at = (at + 1) % kSlots) {
    if (kIndex.keys[at] == key) return &kActions[kIndex.action[at] - 1U];
  }
  return nullptr;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// Levenshtein distance, ignoring case.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

struct Vocabulary::Custom {
  std::string name;
  Action action;
};

std::span<const Action> known_actions() { return kActions; }

Vocabulary::Vocabulary(const std::vector<std::string>& custom_actions) {
  for (const std::string& name : custom_actions) {
    if (name.empty() || name.find_first_of(" \t\r\n#") != std::string::npos) {
      throw std::invalid_argument("'" + name +
                                  "' cannot be the name of an action: it must be one word");
    }
    if (find(name) != nullptr) {
      throw std::invalid_argument("an action named '" + name + "' already exists");
    }
    auto custom = std::make_unique<Custom>();
    custom->name = name;
    custom->action = {.name = custom->name,
                      .form = Form::custom,
                      .kind = Kind::custom,
                      .operation = Operation::custom};
    customs_.push_back(std::move(custom));
  }
}

Vocabulary::~Vocabulary() = default;

const Action* Vocabulary::find(std::string_view word) const {
  if (const Action* known = find_known(word)) return known;
  for (const auto& custom : customs_) {
    if (same_word(custom->name, word)) return &custom->action;
  }
  return nullptr;
}

std::string Vocabulary::nearest(std::string_view word) const {
  if (word.size() > kMaxNameLength + 8) return "";
  std::vector<std::pair<std::size_t, std::string_view>> near;
  const auto consider = [&](std::string_view name) {
    const std::size_t edits = distance(word, name);
    if (edits > 1 + name.size() / 4) return;
    auto place = near.begin();
    while (place != near.end() && place->first <= edits) ++place;
    near.emplace(place, edits, name);
  };
  for (const Action& action : kActions) consider(action.name);
  for (const auto& custom : customs_) consider(custom->name);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 3); ++i) {
    if (i > 0) text += i + 1 == std::min<std::size_t>(near.size(), 3) ? " or " : ", ";
    text += near[i].second;
  }
  return text;
}

unsigned rank_arguments(const Action* action) {
  if (action == nullptr) return 0;
  switch (action->form) {
    case Form::send:
    case Form::receive:
    case Form::probe:
      return 0b1;
    case Form::request:
    case Form::start:
      return 0b11;
    case Form::sendrecv:
      return 0b1010;
    case Form::window: {
      const WindowForm form = window_traits_of(action->operation).form;
      const bool has_target =
          form == WindowForm::lock || form == WindowForm::target || form == WindowForm::access;
      return has_target ? 0b10 : 0;
    }
    case Form::none:
    case Form::ignored:
    case Form::location:
    case Form::init:
    case Form::finalize:
    case Form::compute:
    case Form::sleep:
    case Form::requests:
    case Form::collective:
    case Form::comm_split:
    case Form::comm_dup:
    case Form::comm_group:
    case Form::comm_free:
    case Form::file:
    case Form::custom:
      return 0;
  }
  return 0;
}

}  // namespace tisim
