// Parses the lines of a trace: the rules shared by all its ranks, and the parser of one rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/vocabulary/call.hpp"
#include "trace/vocabulary/collective_call.hpp"
#include "trace/vocabulary/op.hpp"
#include "trace/vocabulary/vocabulary.hpp"

namespace tisim {

// The number that SimGrid's tracer writes for both ANY_SOURCE and PROC_NULL.
inline constexpr std::int64_t kSimGridNull = -333;

struct TraceGrammar {
  std::int32_t ranks = 0;
  Dialect dialect = Dialect::modern;  // never automatic
  bool mistaken_null_is_any = true;   // -333 in a receive
  bool keeps_locations = false;       // `location` lines keep their words (kHasLocation)
  bool is_posix_layer = false;        // of lines with `layer=`, read those of posix instead of mpi
  const Vocabulary* vocabulary = nullptr;
};

// Converts one line of a trace, in any spelling, to operations.

// There may be a million parsers, so their state while parsing a line is kept in the call table.
class LineParser {
 public:
  // Maximum number of operations per line.
  static constexpr std::size_t kMaxOps = 4;

  // `file` is the file's name in errors. All arguments must outlive the parser.
  LineParser(const TraceGrammar& grammar, std::int32_t rank, const std::string& file,
             CallTable& calls)
      : grammar_(&grammar), file_(&file), calls_(&calls), rank_(rank) {}

  // Writes the operations of `line`, which has no newline, to `out` and returns their number.
  // `cut`: the file ends with this line, without a newline. Throws TraceError.
  std::size_t parse(std::string_view line, std::uint64_t number, bool cut, Op* out);
  // The same for a line without its rank.
  std::size_t parse_action(std::string_view line, std::uint64_t number, bool cut, Op* out);

  const std::string& file() const { return *file_; }
  CallTable& calls() const { return *calls_; }
  bool double_default() const { return double_default_; }
  // For lines after an `init` that this parser has not read.
  void set_double_default(bool is_double) { double_default_ = is_double; }
  // True if a receive had source -333; true if a message had a type of unknown width.
  bool uses_mistaken_null() const { return uses_mistaken_null_; }
  bool uses_lost_type() const { return uses_lost_type_; }

 private:
  using Words = std::vector<std::string_view>;  // of a line; [0] is the action

  void take(std::string_view line, std::uint64_t number, bool cut);
  std::size_t parse_words(Op* out);
  std::size_t parse_form(const Action& action, Op* out);
  void take_named_arguments();
  bool take_layer(const Action& action);
  std::size_t number_request(const Action& action, Op* out, std::size_t made);
  void list_requests(Op& op);
  void complete_requests(Op& op);
  void read_numbers(std::string_view rest, const std::string& name, std::vector<double>& numbers);

  void parse_location(Op& op);
  std::size_t parse_compute(const Action& action, Op* out);
  void parse_send(const Action& action, Op& op);
  void parse_receive(const Action& action, Op& op);
  void parse_probe(const Action& action, Op& op);
  std::size_t parse_sendrecv(const Action& action, Op* out);
  void parse_request(const Action& action, Op& op);
  void parse_start(Op& op);
  void parse_requests(const Action& action, Op& op);
  std::size_t parse_collective(const Action& action, Op* out);
  void parse_communicator(const Action& action, Op& op);
  void parse_communicator_of_group(const Action& action, Op& op);
  void parse_custom(const Action& action, Op& op);
  std::size_t parse_file(const Action& action, Op* out);
  std::size_t parse_rank_part(const Action& action, Op* out);
  std::size_t prepend_barrier(Op* out, std::size_t made);
  Op collective_of_line(Operation operation, std::vector<double> arguments);
  std::size_t parse_window(const Action& action, Op* out);
  std::size_t add_window_collectives(Operation call, Op* out);
  void parse_open(const Action& action, Op& op);
  void parse_view(const Action& action, Op& op);
  void parse_file_name(const Action& action, Op& op);
  std::size_t parse_seek(const Action& action, Op* out);
  std::size_t append_offset(Op* out, std::int64_t offset);
  std::int32_t handle(std::string_view word);

  double collective_argument(ArgumentRole role, std::string_view word);

  std::int64_t communicator_id(std::string_view word, bool may_be_world);
  std::int32_t request_number(std::string_view word);
  std::int64_t whole(std::string_view word, std::string_view what);
  std::int64_t count(std::string_view word, std::string_view what);
  double volume(std::string_view word, std::string_view what);
  std::int32_t tag(std::string_view word, bool may_be_any);
  std::int32_t destination(std::string_view word);
  std::int32_t source(std::string_view word, std::uint8_t& flags);
  std::int32_t existing_rank(std::int64_t rank, std::string_view what);
  void check_type(std::int64_t type);
  std::int64_t bytes(std::int64_t elements, std::size_t type_index);

  void need(const Action& action, std::size_t least, std::size_t most);
  [[noreturn]] void wrong_arguments(const Action& action);
  [[noreturn]] void unknown_action(std::string_view word);
  std::string cut_hint() const;
  [[noreturn]] void fail(std::string message) const;
  CallTable::Scratch& scratch() const { return calls_->scratch(); }

  const TraceGrammar* grammar_;
  const std::string* file_;
  CallTable* calls_;
  std::int32_t rank_;
  bool double_default_ = false;
  bool uses_mistaken_null_ = false;
  bool uses_lost_type_ = false;
};

}  // namespace tisim
