// The action words of a trace and what follows each of them: the one place where they are listed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/vocabulary/op.hpp"
#include "trace/vocabulary/call.hpp"

namespace tisim {

// How the arguments of an action are read.
enum class Form : std::uint8_t {
  ignored,   // whatever they are
  location,  // of the next call
  init,      // any argument makes double the default type
  compute,
  sleep,
  send,
  receive,
  probe,
  sendrecv,
  request,   // the key of a pending request
  start,     // the same, or what SimGrid's tracer writes
  requests,  // none, or a number of requests
  collective,
  comm_split,
  comm_dup,
  comm_free,
  custom,
};

struct Action {
  std::string_view name;
  Form form = Form::ignored;
  Kind kind = Kind::nop;
  Operation operation = Operation::barrier;
  std::string_view usage = {};         // arguments in the modern dialect
  std::string_view legacy_usage = {};  // in the legacy one, where they differ
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

}  // namespace tisim
