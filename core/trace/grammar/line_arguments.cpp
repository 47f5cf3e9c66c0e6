// The arguments of a line, one by one, and what is said about those that are wrong.
#include <algorithm>
#include <limits>

#include "trace/error.hpp"
#include "trace/grammar/line_parser.hpp"
#include "trace/grammar/number.hpp"
#include "trace/grammar/words.hpp"
#include "trace/vocabulary/datatype.hpp"

namespace tisim {

namespace {

std::string listed(std::size_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace

void LineParser::fail(std::string message) const {
  fail_line(*file_, at_hand().number, at_hand().line, std::move(message));
}

std::string LineParser::cut_hint() const {
  return at_hand().cut ? "; the file ends inside this line, it looks cut: copy or trace it again"
                       : "";
}

void LineParser::need(const Action& action, std::size_t least, std::size_t most) {
  const std::size_t arguments = calls_->scratch().words.size() - 1;
  if (arguments < least || arguments > most) wrong_arguments(action);
}

void LineParser::wrong_arguments(const Action& action) {
  const std::size_t arguments = calls_->scratch().words.size() - 1;
  const bool legacy = grammar_->dialect == Dialect::legacy && !action.legacy_usage.empty();
  std::string message = std::string(action.name) + " needs " +
                        std::string(legacy ? action.legacy_usage : action.usage) + ", got " +
                        listed(arguments, "argument");
  if (action.form == Form::collective && action.usage.find("P-1") != std::string_view::npos) {
    message += " (P is " + std::to_string(grammar_->ranks) + ")";
  }
  if (at_hand().cut) {
    message += cut_hint();
  } else if (!action.legacy_usage.empty()) {
    message += legacy ? "; if the trace has tags, read it in the modern dialect"
                      : "; if the trace has no tags, read it in the legacy dialect";
  }
  fail(std::move(message));
}

void LineParser::unknown_action(std::string_view word) {
  // `tisim record` writes this action, which a user may have registered to leave such calls out.
  const std::vector<std::string_view>& words = calls_->scratch().words;
  if (word == "unsupported" && words.size() == 3) {
    fail("the program called " + std::string(words[1]) + ' ' + std::string(words[2]) +
         " times, which a trace cannot express; --ignore-unsupported goes on without these calls");
  }
  std::string message = "there is no action " + quoted(word);
  if (at_hand().cut) fail(message + cut_hint());
  const std::string near = grammar_->vocabulary->nearest(word);
  if (!near.empty()) message += ", but " + near;
  fail(message + "; an action of your own has to be registered");
}

std::int64_t LineParser::communicator_id(std::string_view word, bool may_be_world) {
  const std::int64_t id = whole(word, "communicator");
  if (id < 0 || id > std::numeric_limits<std::uint16_t>::max()) {
    fail("communicator " + quoted(word) + " is not between 0 and 65535");
  }
  if (id == 0 && !may_be_world) fail("communicator 0 is the world; it is neither made nor freed");
  return id;
}

std::int32_t LineParser::request_number(std::string_view word) {
  const std::int64_t number = whole(word, "request");
  if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) {
    fail("request " + quoted(word) + " is not between 0 and 2147483647");
  }
  return static_cast<std::int32_t>(number);
}

std::int64_t LineParser::whole(std::string_view word, std::string_view what) {
  std::int64_t value = 0;
  const char* fault = nullptr;
  switch (read_whole(word, value)) {
    case NumberFault::none:
      return value;
    case NumberFault::not_a_number:
      fault = " is not a number";
      break;
    case NumberFault::not_whole:
      fault = " is not a whole number";
      break;
    case NumberFault::too_large:
      fault = " does not fit into 64 bits";
      break;
  }
  fail(std::string(what) + " " + quoted(word) + fault);
}

std::int64_t LineParser::count(std::string_view word, std::string_view what) {
  const std::int64_t value = whole(word, what);
  if (value < 0) fail(std::string(what) + " " + quoted(word) + " is negative; it is 0 or more");
  return value;
}

double LineParser::volume(std::string_view word, std::string_view what) {
  double value = 0;
  const NumberFault fault = read_real(word, value);
  if (fault != NumberFault::none || value < 0) {
    fail(std::string(what) + " " + quoted(word) +
         (fault == NumberFault::too_large ? " is beyond what a number can be"
          : fault != NumberFault::none    ? " is not a number"
                                          : " is negative; it is 0 or more"));
  }
  return value + 0.0;  // no negative zero
}

std::int32_t LineParser::tag(std::string_view word, bool may_be_any) {
  const std::int64_t value = whole(word, "tag");
  if (value == kAnyTag && may_be_any) return kAnyTag;
  if (value < 0) {
    fail("tag " + quoted(word) +
         (may_be_any ? " is neither 0 or more nor -444, any tag"
                     : " is negative; a message's tag is 0 or more"));
  }
  if (value > std::numeric_limits<std::int32_t>::max()) {
    fail("tag " + quoted(word) + " is more than 2147483647");
  }
  return static_cast<std::int32_t>(value);
}

std::int32_t LineParser::destination(std::string_view word) {
  const std::int64_t rank = whole(word, "destination");
  if (rank == kProcNull || rank == kSimGridNull) return kProcNull;
  return existing_rank(rank, "destination");
}

std::int32_t LineParser::source(std::string_view word, std::uint8_t& flags) {
  const std::int64_t rank = whole(word, "source");
  if (rank == kAnySource) return kAnySource;
  if (rank == kProcNull) return kProcNull;
  if (rank == kSimGridNull) {
    if (!grammar_->mistaken_null_is_any) return kProcNull;
    uses_mistaken_null_ = true;
    flags |= kNullIsMistaken;
    return kAnySource;
  }
  return existing_rank(rank, "source");
}

std::int32_t LineParser::existing_rank(std::int64_t rank, std::string_view what) {
  // No communicator has more ranks than the world.
  if (rank < 0 || rank >= grammar_->ranks) {
    fail(std::string(what) + " " + std::to_string(rank) + " does not exist: " +
         (grammar_->ranks == 1
              ? "the trace has rank 0 only"
              : "the ranks of this trace are 0 to " + std::to_string(grammar_->ranks - 1)) +
         "; is the file of a rank missing?");
  }
  return static_cast<std::int32_t>(rank);
}

void LineParser::check_type(std::int64_t type) {
  if (type == kLostType) uses_lost_type_ = true;
  if (type_width(type) == kNoType) {
    fail("there is no type " + std::to_string(type) + "; types are 0 to 59, and -1");
  }
}

// Of `elements` whose type is the word at `type_index`, if there is one.
std::int64_t LineParser::bytes(std::int64_t elements, std::size_t type_index) {
  const Words& words = calls_->scratch().words;
  std::int64_t width = double_default_ ? kDoubleWidth : kByteWidth;
  if (type_index < words.size()) {
    const std::int64_t type = whole(words[type_index], "type");
    check_type(type);
    width = type_width(type);
  }
  std::int64_t total = 0;
  if (__builtin_mul_overflow(elements, width, &total)) {
    fail("a message of " + std::to_string(elements) + " times " + std::to_string(width) +
         " bytes does not fit into 64 bits");
  }
  return total;
}

}  // namespace tisim
