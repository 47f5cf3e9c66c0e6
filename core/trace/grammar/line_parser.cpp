#include "trace/grammar/line_parser.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "trace/error.hpp"
#include "trace/grammar/words.hpp"
#include "trace/vocabulary/datatype.hpp"
#include "trace/vocabulary/file_view.hpp"
#include "trace/vocabulary/files.hpp"

namespace tisim {

namespace {

bool is_communication(Form form) {
  switch (form) {
    case Form::send:
    case Form::receive:
    case Form::probe:
    case Form::sendrecv:
    case Form::request:
    case Form::start:
    case Form::requests:
    case Form::collective:
    case Form::window:
      return true;
    case Form::none:
    case Form::ignored:
    case Form::location:
    case Form::init:
    case Form::finalize:
    case Form::compute:
    case Form::sleep:
    case Form::comm_split:
    case Form::comm_dup:
    case Form::comm_group:
    case Form::comm_free:
    case Form::file:
    case Form::custom:
      return false;
  }
  return false;
}

}  // namespace

void LineParser::take(std::string_view line, std::uint64_t number, bool cut) {
  CallTable::Scratch& line_state = scratch();
  line_state.line = line;
  line_state.number = number;
  line_state.cut = cut;
}

std::size_t LineParser::parse(std::string_view line, std::uint64_t number, bool cut, Op* out) {
  take(line, number, cut);
  Words& words = scratch().words;
  split_words(line, words);
  if (words.empty()) return 0;
  const std::int64_t rank = leading_rank(line, *file_, number);
  if (rank != rank_) {
    fail("this line is of rank " + std::to_string(rank) + ", the lines before it are of rank " +
         std::to_string(rank_) + "; a file with several ranks must be the only file of its set");
  }
  if (words.size() < 2) fail("a line needs an action after its rank" + cut_hint());
  words.erase(words.begin());
  return parse_words(out);
}

std::size_t LineParser::parse_action(std::string_view line, std::uint64_t number, bool cut,
                                     Op* out) {
  take(line, number, cut);
  Words& words = scratch().words;
  split_words(line, words);
  return words.empty() ? 0 : parse_words(out);
}

std::size_t LineParser::parse_words(Op* out) {
  const std::string_view word = scratch().words.front();
  const Action* const action = grammar_->vocabulary->find(word);
  if (action == nullptr) unknown_action(word);
  CallTable::Scratch& line_state = scratch();
  line_state.comm = 0;
  line_state.request = -1;
  line_state.requests = {};
  line_state.completed = {};
  const bool is_read = take_layer(*action);
  const bool is_of_several =
      action->form == Form::file && (file_traits_of(action->operation).synchronises ||
                                     file_traits_of(action->operation).makes_request);
  if (is_of_several || is_communication(action->form)) take_named_arguments();
  if (line_state.completed.data() != nullptr && action->kind != Kind::waitany &&
      action->kind != Kind::waitsome) {
    fail(std::string(action->name) +
         " does not accept completed=: only waitany and waitsome choose among their requests");
  }
  if (line_state.requests.data() != nullptr && action->form != Form::requests) {
    fail(std::string(action->name) +
         " does not accept requests=: it applies to at most one request");
  }
  *out = Op{};
  out->kind = action->kind;
  out->comm = line_state.comm;
  std::size_t made = parse_form(*action, out);
  if (line_state.request >= 0) made = number_request(*action, out, made);
  if (!is_read) return 0;
  for (std::size_t i = 0; i < made; ++i) {
    out[i].line = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(scratch().number, std::numeric_limits<std::uint32_t>::max()));
    if (i > 0) out[i].flags |= kContinuation;
  }
  return made;
}

std::size_t LineParser::parse_form(const Action& action, Op* out) {
  switch (action.form) {
    case Form::none:
    case Form::ignored:
      break;
    case Form::finalize:
      out->flags |= kIsFinalize;
      break;
    case Form::location:
      parse_location(*out);
      break;
    case Form::init:
      double_default_ = scratch().words.size() > 1;
      out->flags |= kIsInit;
      break;
    case Form::compute:
      return parse_compute(action, out);
    case Form::sleep:
      need(action, 1, 1);
      out->amount = volume(scratch().words[1], action.usage);
      break;
    case Form::send:
      parse_send(action, *out);
      break;
    case Form::receive:
      parse_receive(action, *out);
      break;
    case Form::probe:
      parse_probe(action, *out);
      break;
    case Form::sendrecv:
      return parse_sendrecv(action, out);
    case Form::request:
    case Form::start:
      parse_request(action, *out);
      break;
    case Form::requests:
      parse_requests(action, *out);
      break;
    case Form::collective:
      return parse_collective(action, out);
    case Form::comm_split:
    case Form::comm_dup:
    case Form::comm_free:
      parse_communicator(action, *out);
      break;
    case Form::comm_group:
      parse_communicator_of_group(action, *out);
      break;
    case Form::file:
      return parse_file(action, out);
    case Form::window:
      return parse_window(action, out);
    case Form::custom:
      parse_custom(action, *out);
      break;
  }
  return 1;
}

// Keeps the words only for a reader that looks up speedups by location.
void LineParser::parse_location(Op& op) {
  const Words& words = scratch().words;
  if (!grammar_->keeps_locations || words.size() < 3) return;
  Call& call = scratch().call;
  call = Call{};
  call.operation = Operation::custom;
  call.words.assign(words.begin() + 1, words.begin() + 3);
  op.call = calls_->intern(call);
  op.flags |= kHasLocation;
}

std::size_t LineParser::parse_compute(const Action& action, Op* out) {
  const Words& words = scratch().words;
  need(action, 1, 3);
  out[0].amount = volume(words[1], "flops");
  if (words.size() == 2) return 1;
  constexpr std::string_view kThreads = "threads=";
  constexpr std::string_view kSum = "sum=";
  if (words.size() != 4 || !words[2].starts_with(kThreads) || !words[3].starts_with(kSum)) {
    wrong_arguments(action);
  }
  const std::int64_t threads = whole(words[2].substr(kThreads.size()), "threads");
  if (threads < 1 || threads > std::numeric_limits<std::int32_t>::max()) {
    fail("threads " + quoted(words[2].substr(kThreads.size())) +
         " is not between 1 and 2147483647");
  }
  const double sum = volume(words[3].substr(kSum.size()), "sum");
  // Volumes may have been rounded when they were written.
  constexpr double kRounding = 1e-5;
  const double most = out[0].amount * static_cast<double>(threads);
  if (sum < out[0].amount * (1 - kRounding) || sum > most * (1 + kRounding)) {
    fail("the sum of the volumes of " + std::to_string(threads) +
         " threads is not between the largest and " + std::to_string(threads) + " times that");
  }
  out[0].flags |= kThreaded;
  out[1] = Op{};
  out[1].kind = Kind::threads;
  out[1].amount = out[0].amount > 0 ? std::max(1.0, sum / out[0].amount) : 1.0;
  out[1].tag = static_cast<std::int32_t>(threads);
  return 2;
}

void LineParser::parse_send(const Action& action, Op& op) {
  const bool tagged = grammar_->dialect != Dialect::legacy;
  const std::size_t at = tagged ? 3 : 2;  // index of the count
  need(action, at, at + 1);
  const Words& words = scratch().words;
  op.peer = destination(words[1]);
  op.tag = tagged ? tag(words[2], false) : 0;
  op.bytes = bytes(count(words[at], "count"), at + 1);
}

void LineParser::parse_receive(const Action& action, Op& op) {
  const bool tagged = grammar_->dialect != Dialect::legacy;
  const std::size_t at = tagged ? 3 : 2;
  need(action, tagged ? 3 : 1, at + 1);
  const Words& words = scratch().words;
  op.peer = source(words[1], op.flags);
  op.tag = tagged ? tag(words[2], true) : 0;
  const std::int64_t elements = words.size() > at ? whole(words[at], "count") : -1;
  const std::int64_t buffer = bytes(elements < 0 ? 0 : elements, at + 1);
  op.bytes = elements < 0 ? -1 : buffer;
}

void LineParser::parse_probe(const Action& action, Op& op) {
  const bool tagged = grammar_->dialect != Dialect::legacy;
  need(action, tagged ? 2 : 1, tagged ? 2 : 1);
  const Words& words = scratch().words;
  op.peer = source(words[1], op.flags);
  op.tag = tagged ? tag(words[2], true) : 0;
  op.bytes = -1;
}

std::size_t LineParser::parse_sendrecv(const Action& action, Op* out) {
  need(action, 4, 6);
  const Words& words = scratch().words;
  out[0].peer = destination(words[2]);
  out[0].bytes = bytes(count(words[1], "send count"), 5);
  out[1] = Op{};
  out[1].kind = Kind::recv_half;
  out[1].comm = scratch().comm;
  out[1].peer = source(words[4], out[1].flags);
  out[1].bytes = bytes(count(words[3], "receive count"), 6);
  return 2;
}

std::size_t LineParser::parse_collective(const Action& action, Op* out) {
  const CollectiveLayout layout(action.operation, scratch().comm == 0 ? grammar_->ranks : 0);
  const Words& words = scratch().words;
  const auto arguments = static_cast<std::int64_t>(words.size()) - 1;
  if (!layout.accepts(arguments)) wrong_arguments(action);
  // The flops of a reducescatter stay in the call: their position depends on the number of ranks of
  // a communicator, which is unknown here.
  const bool splits = layout.has_flops() && action.operation != Operation::reducescatter;
  Call& call = scratch().call;
  call.operation = action.operation;
  call.double_default = double_default_;
  call.comm = scratch().comm;
  call.arguments.clear();
  call.words.clear();
  double flops = 0;
  for (std::int64_t i = 0; i < arguments; ++i) {
    const std::string_view word = words[static_cast<std::size_t>(i) + 1];
    if (!layout.has_roles()) {
      double any = 0;
      if (read_real(word, any) != NumberFault::none)
        any = static_cast<double>(whole(word, "argument"));
      call.arguments.push_back(any);
      continue;
    }
    const double value = collective_argument(layout.role(i, arguments), word);
    if (splits && layout.role(i, arguments) == ArgumentRole::flops) {
      flops = value;
    } else {
      call.arguments.push_back(value);
    }
  }
  out[0].call = calls_->intern(call);
  if (flops == 0) return 1;
  out[1] = Op{};
  out[1].kind = Kind::compute;
  out[1].amount = flops;
  return 2;
}

double LineParser::collective_argument(ArgumentRole role, std::string_view word) {
  switch (role) {
    case ArgumentRole::flops:
      return volume(word, "flops");
    case ArgumentRole::root: {
      const std::int64_t root = whole(word, "root");
      return scratch().comm == 0 ? existing_rank(root, "root") : static_cast<double>(root);
    }
    case ArgumentRole::type: {
      const std::int64_t type = whole(word, "type");
      check_type(type);
      return static_cast<double>(type);
    }
    case ArgumentRole::displacement:
      return static_cast<double>(whole(word, "displacement"));
    case ArgumentRole::neighbour:  // checked where the number of ranks is known
    case ArgumentRole::count:
      break;
  }
  constexpr std::int64_t kMaxExactInteger = std::int64_t{1} << 53;  // largest exact integer range
  const std::int64_t elements = count(word, "count");
  if (elements > kMaxExactInteger) fail("count " + quoted(word) + " is more than 2^53");
  return static_cast<double>(elements);
}

void LineParser::parse_communicator(const Action& action, Op& op) {
  Words& words = scratch().words;
  // SimGrid's comm_split and comm_dup have no arguments and no effect.
  if (words.size() == 1 && action.form != Form::comm_free) {
    op.kind = Kind::nop;
    return;
  }
  const std::size_t arguments = action.form == Form::comm_split ? 4
                                : action.form == Form::comm_dup ? 2
                                                                : 1;
  need(action, arguments, arguments);
  Call& call = scratch().call;
  call.operation = action.operation;
  call.double_default = false;
  call.arguments.clear();
  call.words.clear();
  for (std::size_t i = 1; i <= arguments; ++i) {
    const bool is_id = i <= 2;
    // Only the first of several ids may be the world, which is neither created nor freed.
    const std::int64_t value =
        is_id ? communicator_id(words[i], i == 1 && arguments > 1) : whole(words[i], "argument");
    call.arguments.push_back(static_cast<double>(value));
  }
  call.comm = static_cast<std::uint16_t>(call.arguments.front());
  op.comm = call.comm;
  op.call = calls_->intern(call);
}

void LineParser::parse_communicator_of_group(const Action& action, Op& op) {
  const Words& words = scratch().words;
  need(action, 2, static_cast<std::size_t>(grammar_->ranks) + 1);
  Call& call = scratch().call;
  call.operation = action.operation;
  call.double_default = false;
  call.comm = 0;
  call.arguments.assign({0.0, static_cast<double>(communicator_id(words[1], false))});
  call.words.clear();
  for (std::size_t i = 2; i < words.size(); ++i) {
    call.arguments.push_back(existing_rank(whole(words[i], "rank"), "rank"));
  }
  std::vector<double> members(call.arguments.begin() + 2, call.arguments.end());
  std::sort(members.begin(), members.end());
  const auto twice = std::adjacent_find(members.begin(), members.end());
  if (twice != members.end()) {
    fail("rank " + std::to_string(static_cast<std::int64_t>(*twice)) + " occurs twice");
  }
  if (!std::binary_search(members.begin(), members.end(), static_cast<double>(rank_))) {
    fail("the ranks of the new communicator do not include this one, rank " +
         std::to_string(rank_));
  }
  op.call = calls_->intern(call);
}

void LineParser::parse_custom(const Action& action, Op& op) {
  const Words& words = scratch().words;
  Call& call = scratch().call;
  call.operation = Operation::custom;
  call.double_default = false;
  call.comm = 0;
  call.arguments.clear();
  call.words.assign(words.begin(), words.end());
  call.words.front() = action.name;
  op.call = calls_->intern(call);
}

// The arguments of a line, and the errors about them.

namespace {

std::string listed(std::size_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace

void LineParser::fail(std::string message) const {
  fail_line(*file_, scratch().number, scratch().line, std::move(message));
}

std::string LineParser::cut_hint() const {
  return scratch().cut
             ? "; the file ends within this line and looks truncated: copy or trace it again"
             : "";
}

void LineParser::need(const Action& action, std::size_t least, std::size_t most) {
  const std::size_t arguments = scratch().words.size() - 1;
  if (arguments < least || arguments > most) wrong_arguments(action);
}

void LineParser::wrong_arguments(const Action& action) {
  const std::size_t arguments = scratch().words.size() - 1;
  const bool legacy = grammar_->dialect == Dialect::legacy && !action.legacy_usage.empty();
  std::string message = std::string(action.name) + " needs " +
                        std::string(legacy ? action.legacy_usage : action.usage) + ", got " +
                        listed(arguments, "argument");
  if (action.form == Form::collective && action.usage.find("P-1") != std::string_view::npos) {
    message += " (P is " + std::to_string(grammar_->ranks) + ")";
  }
  if (scratch().cut) {
    message += cut_hint();
  } else if (!action.legacy_usage.empty()) {
    message += legacy ? "; if the trace has tags, read it in the modern dialect"
                      : "; if the trace has no tags, read it in the legacy dialect";
  }
  fail(std::move(message));
}

void LineParser::unknown_action(std::string_view word) {
  // `tisim record` writes this action; a user may have registered it to ignore such calls.
  const std::vector<std::string_view>& words = scratch().words;
  if (word == "unsupported" && words.size() == 3) {
    fail("the program called " + std::string(words[1]) + ' ' + std::string(words[2]) +
         " times, which a trace cannot express; --ignore-unsupported skips these calls");
  }
  std::string message = "unknown action " + quoted(word);
  if (scratch().cut) fail(message + cut_hint());
  const std::string near = grammar_->vocabulary->nearest(word);
  if (!near.empty()) message += ", but " + near;
  fail(message + "; a custom action must be registered");
}

std::int64_t LineParser::communicator_id(std::string_view word, bool may_be_world) {
  const std::int64_t id = whole(word, "communicator");
  if (id < 0 || id > std::numeric_limits<std::uint16_t>::max()) {
    fail("communicator " + quoted(word) + " is not between 0 and 65535");
  }
  if (id == 0 && !may_be_world)
    fail("communicator 0 is the world, which cannot be created or freed");
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
  if (value < 0) fail(std::string(what) + " " + quoted(word) + " is negative; must be at least 0");
  return value;
}

double LineParser::volume(std::string_view word, std::string_view what) {
  double value = 0;
  const NumberFault fault = read_real(word, value);
  if (fault != NumberFault::none || value < 0) {
    fail(std::string(what) + " " + quoted(word) +
         (fault == NumberFault::too_large ? " is too large"
          : fault != NumberFault::none    ? " is not a number"
                                          : " is negative; must be at least 0"));
  }
  return value + 0.0;  // no negative zero
}

std::int32_t LineParser::tag(std::string_view word, bool may_be_any) {
  const std::int64_t value = whole(word, "tag");
  if (value == kAnyTag && may_be_any) return kAnyTag;
  if (value < 0) {
    fail("tag " + quoted(word) +
         (may_be_any ? " is neither at least 0 nor -444, any tag"
                     : " is negative; the tag of a message must be at least 0"));
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
    fail("no type " + std::to_string(type) + "; types are 0 to 59, and -1");
  }
}

// Bytes of `elements` of the type in the word at `type_index`, or of the default type without one.
std::int64_t LineParser::bytes(std::int64_t elements, std::size_t type_index) {
  const Words& words = scratch().words;
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

// Lines about files.

namespace {

constexpr std::string_view kSize = "size=";

}  // namespace

std::size_t LineParser::parse_file(const Action& action, Op* out) {
  out->tag = static_cast<std::int32_t>(action.operation);
  const std::size_t made = parse_rank_part(action, out);
  return file_traits_of(action.operation).synchronises ? prepend_barrier(out, made) : made;
}

// The ranks synchronise, then each does its own part.
std::size_t LineParser::prepend_barrier(Op* out, std::size_t made) {
  std::copy_backward(out, out + made, out + 2 + made);
  out[1] = collective_of_line(Operation::barrier, {});
  return 2 + made;
}

// A collective on the line's communicator that all its ranks enter as part of the call.
Op LineParser::collective_of_line(Operation operation, std::vector<double> arguments) {
  Call& call = scratch().call;
  call = Call{};
  call.operation = operation;
  call.comm = scratch().comm;
  call.arguments = std::move(arguments);
  Op op;
  op.kind = Kind::collective;
  op.comm = scratch().comm;
  op.call = calls_->intern(call);
  return op;
}

// This rank's own operation in the call.
std::size_t LineParser::parse_rank_part(const Action& action, Op* out) {
  const Words& words = scratch().words;
  if (ends_split(action.operation)) {
    need(action, 1, 1);
    out->peer = handle(words[1]);
    return 1;
  }
  switch (posix_equivalent(action.operation)) {
    case Operation::open:
      parse_open(action, *out);
      return 1;
    case Operation::close:
    case Operation::fsync:
      need(action, 1, 1);
      out->peer = handle(words[1]);
      return 1;
    case Operation::read:
    case Operation::write:
    case Operation::file_set_size:
    case Operation::file_preallocate:
      need(action, 2, 2);
      out->peer = handle(words[1]);
      out->bytes = count(words[2], "bytes");
      return 1;
    case Operation::pread:
    case Operation::pwrite:
      need(action, 3, 3);
      out->peer = handle(words[1]);
      out->bytes = count(words[2], "bytes");
      return append_offset(out, count(words[3], "offset"));
    case Operation::lseek:
      return parse_seek(action, out);
    case Operation::file_set_view:
      parse_view(action, *out);
      return 1;
    default:
      parse_file_name(action, *out);
      return 1;
  }
}

void LineParser::parse_open(const Action& action, Op& op) {
  const Words& words = scratch().words;
  need(action, 2, 4);
  op.peer = handle(words[1]);
  std::int64_t size = kUnknownSize;
  std::size_t flags = words.size();
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (words[i].starts_with(kSize)) {
      size = count(words[i].substr(kSize.size()), "size");
      if (i + 1 < words.size()) wrong_arguments(action);
    } else if (flags == words.size()) {
      flags = i;
    } else {
      wrong_arguments(action);
    }
  }
  const std::string_view letters = flags < words.size() ? words[flags] : kDefaultOpenFlags;
  if (!are_open_flags(letters)) {
    fail("flags " + quoted(letters) + " are not letters of " + quoted(kOpenFlags) +
         ": read, write, create, truncate, append, exclusive, with one of r, w and a");
  }
  const std::string name(words[2]);
  parse_file_name(action, op);
  Call& call = scratch().call;
  call.words = {name, std::string(letters)};
  call.arguments.assign({static_cast<double>(size)});
  op.call = calls_->intern(call);
}

void LineParser::parse_view(const Action& action, Op& op) {
  const Words& words = scratch().words;
  if (words.size() < 2) need(action, 1, 1);
  op.peer = handle(words[1]);
  Call& call = scratch().call;
  call = Call{};
  call.operation = Operation::file_set_view;
  for (std::size_t i = 2; i < words.size(); ++i) {
    call.arguments.push_back(static_cast<double>(count(words[i], "number of a view")));
  }
  const std::string error = words.size() > 2 ? FileView::error_of(call.arguments) : std::string{};
  if (!error.empty()) fail(error);
  op.call = calls_->intern(call);
}

void LineParser::parse_file_name(const Action& action, Op& op) {
  const Words& words = scratch().words;
  const bool is_open = posix_equivalent(action.operation) == Operation::open;
  if (!is_open) need(action, 1, 1);
  const std::string_view name = words[is_open ? 2 : 1];
  if (!is_file_name(name)) {
    fail("in the name " + quoted(name) +
         " a % must be followed by d or 0Nd, for the number of the rank, or by another %");
  }
  Call& call = scratch().call;
  call = Call{};
  call.operation = action.operation;
  call.words.assign({std::string(name)});
  if (!is_open) op.call = calls_->intern(call);
}

std::size_t LineParser::parse_seek(const Action& action, Op* out) {
  const Words& words = scratch().words;
  need(action, 2, 3);
  SeekFrom from = SeekFrom::beginning;
  if (words.size() > 3) {
    if (words[3] == "cur") {
      from = SeekFrom::position;
    } else if (words[3] == "end") {
      from = SeekFrom::end;
    } else if (words[3] != "set") {
      wrong_arguments(action);
    }
  }
  const std::int64_t distance =
      from == SeekFrom::beginning ? count(words[2], "offset") : whole(words[2], "offset");
  out->peer = handle(words[1]);
  Call& call = scratch().call;
  call = Call{};
  call.operation = Operation::lseek;
  call.arguments.assign({static_cast<double>(from)});
  out->call = calls_->intern(call);
  return append_offset(out, distance);
}

// Appends the offset as the line's second operation.
std::size_t LineParser::append_offset(Op* out, std::int64_t offset) {
  out[1] = Op{};
  out[1].kind = Kind::file_offset;
  out[1].bytes = offset;
  if (posix_equivalent(file_call_of(out[0])) != Operation::lseek &&
      out[0].bytes > std::numeric_limits<std::int64_t>::max() - offset) {
    fail("the offset and the bytes together do not fit into 64 bits");
  }
  return 2;
}

std::int32_t LineParser::handle(std::string_view word) {
  const std::int64_t number = whole(word, "handle");
  if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) {
    fail("handle " + quoted(word) + " is not between 0 and 2147483647");
  }
  return static_cast<std::int32_t>(number);
}

// Lines about windows.

// The internal collectives of a collective call follow SimGrid (smpi_win.cpp).
std::size_t LineParser::parse_window(const Action& action, Op* out) {
  const Words& words = scratch().words;
  const WindowForm form = window_traits_of(action.operation).form;
  if (words.size() < 2) wrong_arguments(action);
  const std::int64_t number = whole(words[1], "window");
  if (number < 0 || number >= kMaxWindows) {
    fail("window " + quoted(words[1]) + " is not between 0 and " + std::to_string(kMaxWindows - 1));
  }
  out->tag = window_tag(action.operation, static_cast<std::int32_t>(number));
  out->peer = kProcNull;
  switch (form) {
    case WindowForm::alone:
      need(action, 1, 1);
      break;
    case WindowForm::size:
      need(action, 2, 2);
      out->bytes = count(words[2], "bytes");
      break;
    case WindowForm::fence:
      for (std::size_t i = 2; i < words.size(); ++i) {
        if (words[i] != "noprecede" && words[i] != "nosucceed") wrong_arguments(action);
        out->bytes |= words[i] == "noprecede" ? kNoPrecede : kNoSucceed;
      }
      break;
    case WindowForm::group: {
      Call& call = scratch().call;
      call = Call{};
      call.operation = action.operation;
      for (std::size_t i = 2; i < words.size(); ++i) {
        call.arguments.push_back(existing_rank(whole(words[i], "rank"), "rank"));
      }
      out->call = calls_->intern(call);
      break;
    }
    case WindowForm::lock:
      need(action, 3, 3);
      if (words[3] != "exclusive" && words[3] != "shared") wrong_arguments(action);
      out->peer = existing_rank(whole(words[2], "target"), "target");
      out->bytes = words[3] == "exclusive" ? 1 : 0;
      break;
    case WindowForm::target:
      need(action, 2, 2);
      out->peer = existing_rank(whole(words[2], "target"), "target");
      break;
    case WindowForm::access:
      need(action, 3, 4);
      out->peer = destination(words[2]);
      out->bytes = bytes(count(words[3], "count"), 4);
      break;
  }
  return add_window_collectives(action.operation, out);
}

std::size_t LineParser::add_window_collectives(Operation call, Op* out) {
  constexpr double kAddress = 8;  // size of a window's address, which the ranks exchange
  constexpr double kByteType = 6;
  Op own = *out;  // a rank's own operation between two barriers
  switch (call) {
    case Operation::win_allocate_shared:
      out[1] = collective_of_line(Operation::bcast, {kAddress, 0, kByteType});
      out[2] = collective_of_line(Operation::barrier, {});
      out[3] = collective_of_line(Operation::allgather, {kAddress, kAddress, kByteType, kByteType});
      return 4;
    case Operation::win_create:
    case Operation::win_allocate:
    case Operation::win_create_dynamic:
      out[1] = collective_of_line(Operation::allgather, {kAddress, kAddress, kByteType, kByteType});
      return 2;
    case Operation::win_fence:
    case Operation::win_free:
      out[1] = collective_of_line(Operation::barrier, {});
      if (call == Operation::win_fence && (out->bytes & kNoPrecede) != 0) return 2;
      out[2] = own;
      out[3] = out[1];
      return 4;
    default:
      return 1;
  }
}

// Requests in a line: creation, and lookup by key or by number.

// Removes a trailing `layer=` from the line. Returns false if it names the layer that is not read.
bool LineParser::take_layer(const Action& action) {
  constexpr std::string_view kLayer = "layer=";
  Words& words = scratch().words;
  if (!words.back().starts_with(kLayer)) return true;
  if (action.form != Form::file && action.form != Form::request && action.form != Form::requests) {
    return true;
  }
  const std::string_view layer = words.back().substr(kLayer.size());
  if (layer != "mpi" && layer != "posix") {
    fail("the layer " + quoted(layer) + " is neither mpi nor posix");
  }
  words.pop_back();
  return (layer == "posix") == grammar_->is_posix_layer;
}

// Removes the trailing arguments `comm=`, `request=`, `requests=` and `completed=` from the line,
// each at most once.
void LineParser::take_named_arguments() {
  CallTable::Scratch& line_state = scratch();
  for (bool has_comm = false; line_state.words.size() > 1;) {
    const std::string_view last = line_state.words.back();
    const std::size_t equals = last.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = last.substr(0, equals);
    const std::string_view value = last.substr(equals + 1);
    if (name == "comm" && !has_comm) {
      line_state.comm = static_cast<std::uint16_t>(communicator_id(value, true));
      has_comm = true;
    } else if (name == "request" && line_state.request < 0) {
      line_state.request = request_number(value);
    } else if (name == "requests" && line_state.requests.data() == nullptr) {
      line_state.requests = value;
    } else if (name == "completed" && line_state.completed.data() == nullptr) {
      line_state.completed = value;
    } else {
      return;
    }
    line_state.words.pop_back();
  }
}

// Handles `request=`: assigns the number to the line's request, or refers to that request.
std::size_t LineParser::number_request(const Action& action, Op* out, std::size_t made) {
  const KindTraits& traits = traits_of(out->kind);
  // See parse_request().
  if (names_one_request(out->kind) || traits.role == Role::start) return made;
  if (traits.role == Role::collective && traits.makes_request) {
    out->flags |= kNumbered;
    out->tag = scratch().request;
    return made;
  }
  const bool is_persistent = traits.role == Role::make_persistent;
  const bool makes_one = traits.role == Role::file ? file_traits_of(action.operation).makes_request
                         : traits.role == Role::window
                             ? window_traits_of(action.operation).makes_request
                             : traits.makes_request && is_point_to_point(out->kind);
  if (!is_persistent && !makes_one) {
    fail(std::string(action.name) +
         " does not accept request=: it neither creates nor names a request");
  }
  out[made] = Op{};
  out[made].kind = is_persistent ? Kind::number_persistent : Kind::number_request;
  out[made].bytes = scratch().request;
  return made + 1;
}

void LineParser::parse_request(const Action& action, Op& op) {
  const Words& words = scratch().words;
  if (action.form == Form::start && words.size() >= 5) {
    parse_start(op);
    return;
  }
  if (scratch().request >= 0) {
    // A key may precede it for other readers; it is ignored.
    if (words.size() > 1) need(action, 3, 3);
    for (std::size_t i = 1; i < words.size(); ++i) whole(words[i], "argument");
    op.flags |= kNumbered;
    op.peer = kAnySource;
    op.bytes = scratch().request;
    return;
  }
  const bool completes = role_of(action.kind) == Role::complete_one;
  if (grammar_->dialect == Dialect::legacy && action.form == Form::request) {
    if (!completes) wrong_arguments(action);
    need(action, 0, 0);
    op.kind = action.kind == Kind::wait ? Kind::wait_last : Kind::test_last;
    return;
  }
  need(action, 3, 3);
  const std::int64_t from = whole(words[1], "source");
  const std::int64_t to = whole(words[2], "destination");
  if (from == kSimGridNull && to == kSimGridNull) {  // SimGrid's form for a collective
    if (!completes) {
      fail(std::string(action.name) +
           " does not apply to the request of a collective; MPI only allows waiting for it or "
           "testing it");
    }
    if (action.kind == Kind::wait) op.kind = Kind::wait_icollective;
    op.peer = kAnySource;
    op.bytes = kAnySource;
    op.tag = static_cast<std::int32_t>(whole(words[3], "tag"));
    return;
  }
  op.peer = source(words[1], op.flags);
  op.bytes = destination(words[2]);
  op.tag = tag(words[3], true);
}

// `Start dst tag bytes type`, which SimGrid's tracer writes for a send and, with this rank as
// `dst`, for a receive. The type is that of the buffer; the size is already in bytes.
void LineParser::parse_start(Op& op) {
  const Words& words = scratch().words;
  const std::int64_t to = whole(words[1], "destination");
  op.tag = tag(words[2], true);
  op.bytes = count(words[3], "size");
  if (to == rank_ && scratch().comm == 0) {
    op.kind = Kind::irecv;
    op.peer = kAnySource;
    op.flags |= kSourceLost;
  } else {
    op.kind = Kind::isend;
    op.peer = destination(words[1]);
  }
}

void LineParser::parse_requests(const Action& action, Op& op) {
  need(action, 0, 1);
  const Words& words = scratch().words;
  op.bytes = words.size() > 1 ? count(words[1], "number of requests") : 0;
  if (scratch().requests.data() != nullptr) list_requests(op);
  if (scratch().completed.data() != nullptr) complete_requests(op);
}

void LineParser::list_requests(Op& op) {
  Call& call = scratch().call;
  call = Call{};
  call.operation = Operation::requests;
  read_numbers(scratch().requests, "requests=", call.arguments);
  op.flags |= kNumbered;
  if (scratch().completed.data() == nullptr) op.call = calls_->intern(call);
}

// The requests that the call completed when it was recorded. `call.arguments` contains the list.
void LineParser::complete_requests(Op& op) {
  Call& call = scratch().call;
  if ((op.flags & kNumbered) == 0) fail("completed= needs requests= to list its requests");
  std::swap(call.listed, call.arguments);
  read_numbers(scratch().completed, "completed=", call.arguments);
  if (call.arguments.empty())
    fail("completed= is empty; such a call completes at least one request");
  if (op.kind == Kind::waitany && call.arguments.size() > 1) {
    fail("completed= names " + std::to_string(call.arguments.size()) +
         " requests; a waitany completes only one");
  }
  for (const double number : call.arguments) {
    if (std::find(call.listed.begin(), call.listed.end(), number) == call.listed.end()) {
      fail("completed= names request " + std::to_string(static_cast<std::int64_t>(number)) +
           ", which is not in requests=");
    }
  }
  op.kind = op.kind == Kind::waitany ? Kind::waitany_recorded : Kind::waitsome_recorded;
  op.call = calls_->intern(call);
}

void LineParser::read_numbers(std::string_view rest, const std::string& name,
                              std::vector<double>& numbers) {
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    numbers.push_back(request_number(rest.substr(0, end)));
    if (end + 1 == rest.size()) fail(name + " ends in a comma; a number must follow each");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::vector<double> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    fail("request " + std::to_string(static_cast<std::int64_t>(*twice)) + " occurs twice in " +
         name);
  }
}

}  // namespace tisim
