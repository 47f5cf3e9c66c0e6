// The action words of a trace: those declared in table.hpp and those of the user.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/vocabulary/table.hpp"

namespace tisim {

// The dialects of traces.
enum class Dialect : std::uint8_t {
  automatic,  // to be detected (text/dialect.hpp)
  modern,     // SimGrid 3.20 and later: messages have tags
  legacy,     // earlier versions
};

struct Action {
  std::string_view name;
  Form form = Form::ignored;
  Kind kind = Kind::nop;
  Operation operation = Operation::barrier;
  std::string_view usage = {};         // arguments in the modern dialect
  std::string_view legacy_usage = {};  // in the legacy one, if different
  std::string_view effect = {};        // description for the documentation
};

// All predefined actions.
std::span<const Action> known_actions();

class Vocabulary {
 public:
  // Throws std::invalid_argument if a custom name is a known action or cannot occur in a line.
  explicit Vocabulary(const std::vector<std::string>& custom_actions);
  ~Vocabulary();
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // The action of a word, ignoring case; nullptr if there is none.
  const Action* find(std::string_view word) const;

  // The known names most similar to `word`, as text for an error message; possibly empty.
  std::string nearest(std::string_view word) const;

 private:
  struct Custom;
  std::vector<std::unique_ptr<Custom>> customs_;
};

// The arguments of an action that are ranks.

// Bit i for argument i; 0 without an action. Roots are excluded: they are the same on all ranks.
unsigned rank_arguments(const Action* action);

}  // namespace tisim
