// The action words of a trace, which table.hpp declares, and those of the user.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/vocabulary/table.hpp"

namespace tisim {

// The dialects that traces are written in.
enum class Dialect : std::uint8_t {
  automatic,  // to be detected (text/dialect.hpp)
  modern,     // SimGrid 3.20 and later: messages have tags
  legacy,     // before
};

struct Action {
  std::string_view name;
  Form form = Form::ignored;
  Kind kind = Kind::nop;
  Operation operation = Operation::barrier;
  std::string_view usage = {};         // arguments in the modern dialect
  std::string_view legacy_usage = {};  // in the legacy one, where they differ
  std::string_view effect = {};        // what it does, for the documentation
};

// All actions that tisim knows by itself.
std::span<const Action> known_actions();

class Vocabulary {
 public:
  // Throws std::invalid_argument when a custom name is a known action or cannot stand in a line.
  explicit Vocabulary(const std::vector<std::string>& custom_actions);
  ~Vocabulary();
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // The action of a word in any case, nullptr when there is none.
  const Action* find(std::string_view word) const;

  // The known names that look most like `word`, as text for an error message; perhaps empty.
  std::string nearest(std::string_view word) const;

 private:
  struct Custom;
  std::vector<std::unique_ptr<Custom>> customs_;
};

// Which arguments of an action are ranks.

// Bit i for its argument i; 0 of no action. Roots are not among them: they are the same on all
// ranks.
unsigned rank_arguments(const Action* action);

}  // namespace tisim
