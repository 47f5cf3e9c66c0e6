#include "trace/grammar/line_parser.hpp"

#include <algorithm>
#include <limits>

#include "trace/grammar/number.hpp"
#include "trace/grammar/words.hpp"

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
  CallTable::Scratch& hand = at_hand();
  hand.line = line;
  hand.number = number;
  hand.cut = cut;
}

std::size_t LineParser::parse(std::string_view line, std::uint64_t number, bool cut, Op* out) {
  take(line, number, cut);
  Words& words = calls_->scratch().words;
  split_words(line, words);
  if (words.empty()) return 0;
  const std::int64_t rank = leading_rank(line, *file_, number);
  if (rank != rank_) {
    fail("this line is of rank " + std::to_string(rank) + ", the lines before it are of rank " +
         std::to_string(rank_) + "; a file of several ranks must be the only one of its set");
  }
  if (words.size() < 2) fail("a line needs an action after its rank" + cut_hint());
  words.erase(words.begin());
  return parse_words(out);
}

std::size_t LineParser::parse_action(std::string_view line, std::uint64_t number, bool cut,
                                     Op* out) {
  take(line, number, cut);
  Words& words = calls_->scratch().words;
  split_words(line, words);
  return words.empty() ? 0 : parse_words(out);
}

std::size_t LineParser::parse_words(Op* out) {
  const std::string_view word = calls_->scratch().words.front();
  const Action* const action = grammar_->vocabulary->find(word);
  if (action == nullptr) unknown_action(word);
  CallTable::Scratch& hand = at_hand();
  hand.comm = 0;
  hand.request = -1;
  hand.requests = {};
  const bool is_of_several =
      action->form == Form::file && (file_traits_of(action->operation).synchronises ||
                                     file_traits_of(action->operation).makes_request);
  if (is_of_several || is_communication(action->form)) take_named_arguments();
  if (hand.requests.data() != nullptr && action->form != Form::requests) {
    fail(std::string(action->name) + " takes no requests=: it is about one request at most");
  }
  *out = Op{};
  out->kind = action->kind;
  out->comm = hand.comm;
  std::size_t made = parse_form(*action, out);
  if (hand.request >= 0) made = number_request(*action, out, made);
  for (std::size_t i = 0; i < made; ++i) {
    out[i].line = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(at_hand().number, std::numeric_limits<std::uint32_t>::max()));
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
      location(*out);
      break;
    case Form::init:
      double_default_ = calls_->scratch().words.size() > 1;
      out->flags |= kIsInit;
      break;
    case Form::compute:
      return compute(action, out);
    case Form::sleep:
      need(action, 1, 1);
      out->amount = volume(calls_->scratch().words[1], action.usage);
      break;
    case Form::send:
      send(action, *out);
      break;
    case Form::receive:
      receive(action, *out);
      break;
    case Form::probe:
      probe(action, *out);
      break;
    case Form::sendrecv:
      return sendrecv(action, out);
    case Form::request:
    case Form::start:
      request(action, *out);
      break;
    case Form::requests:
      requests(action, *out);
      break;
    case Form::collective:
      return collective(action, out);
    case Form::comm_split:
    case Form::comm_dup:
    case Form::comm_free:
      communicator(action, *out);
      break;
    case Form::comm_group:
      communicator_of_group(action, *out);
      break;
    case Form::file:
      return file(action, out);
    case Form::custom:
      custom(action, *out);
      break;
  }
  return 1;
}

// The words are kept only for a reader that looks up speedups by place.
void LineParser::location(Op& op) {
  const Words& words = calls_->scratch().words;
  if (!grammar_->keeps_locations || words.size() < 3) return;
  Call& call = calls_->scratch().call;
  call = Call{};
  call.operation = Operation::custom;
  call.words.assign(words.begin() + 1, words.begin() + 3);
  op.call = calls_->intern(call);
  op.flags |= kHasLocation;
}

std::size_t LineParser::compute(const Action& action, Op* out) {
  const Words& words = calls_->scratch().words;
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

void LineParser::send(const Action& action, Op& op) {
  const bool tagged = grammar_->dialect != Dialect::legacy;
  const std::size_t at = tagged ? 3 : 2;  // of the count
  need(action, at, at + 1);
  const Words& words = calls_->scratch().words;
  op.peer = destination(words[1]);
  op.tag = tagged ? tag(words[2], false) : 0;
  op.bytes = bytes(count(words[at], "count"), at + 1);
}

void LineParser::receive(const Action& action, Op& op) {
  const bool tagged = grammar_->dialect != Dialect::legacy;
  const std::size_t at = tagged ? 3 : 2;
  need(action, tagged ? 3 : 1, at + 1);
  const Words& words = calls_->scratch().words;
  op.peer = source(words[1], op.flags);
  op.tag = tagged ? tag(words[2], true) : 0;
  const std::int64_t elements = words.size() > at ? whole(words[at], "count") : -1;
  const std::int64_t buffer = bytes(elements < 0 ? 0 : elements, at + 1);
  op.bytes = elements < 0 ? -1 : buffer;
}

void LineParser::probe(const Action& action, Op& op) {
  const bool tagged = grammar_->dialect != Dialect::legacy;
  need(action, tagged ? 2 : 1, tagged ? 2 : 1);
  const Words& words = calls_->scratch().words;
  op.peer = source(words[1], op.flags);
  op.tag = tagged ? tag(words[2], true) : 0;
  op.bytes = -1;
}

std::size_t LineParser::sendrecv(const Action& action, Op* out) {
  need(action, 4, 6);
  const Words& words = calls_->scratch().words;
  out[0].peer = destination(words[2]);
  out[0].bytes = bytes(count(words[1], "send count"), 5);
  out[1] = Op{};
  out[1].kind = Kind::recv_half;
  out[1].comm = at_hand().comm;
  out[1].peer = source(words[4], out[1].flags);
  out[1].bytes = bytes(count(words[3], "receive count"), 6);
  return 2;
}

std::size_t LineParser::collective(const Action& action, Op* out) {
  const CollectiveLayout layout(action.operation, at_hand().comm == 0 ? grammar_->ranks : 0);
  const Words& words = calls_->scratch().words;
  const auto arguments = static_cast<std::int64_t>(words.size()) - 1;
  if (!layout.accepts(arguments)) wrong_arguments(action);
  // The flops of a scatter of results stay in the call: where they stand depends on the number
  // of ranks of a communicator, which is not known here.
  const bool splits = layout.has_flops() && action.operation != Operation::reducescatter;
  Call& call = calls_->scratch().call;
  call.operation = action.operation;
  call.double_default = double_default_;
  call.comm = at_hand().comm;
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
      return at_hand().comm == 0 ? existing_rank(root, "root") : static_cast<double>(root);
    }
    case ArgumentRole::type: {
      const std::int64_t type = whole(word, "type");
      check_type(type);
      return static_cast<double>(type);
    }
    case ArgumentRole::displacement:
      return static_cast<double>(whole(word, "displacement"));
    case ArgumentRole::count:
      break;
  }
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;  // the last one a double holds exactly
  const std::int64_t elements = count(word, "count");
  if (elements > kLargest) fail("count " + quoted(word) + " is more than 2^53");
  return static_cast<double>(elements);
}

void LineParser::communicator(const Action& action, Op& op) {
  Words& words = calls_->scratch().words;
  // SimGrid's comm_split and comm_dup come alone and do nothing.
  if (words.size() == 1 && action.form != Form::comm_free) {
    op.kind = Kind::nop;
    return;
  }
  const std::size_t arguments = action.form == Form::comm_split ? 4
                                : action.form == Form::comm_dup ? 2
                                                                : 1;
  need(action, arguments, arguments);
  Call& call = calls_->scratch().call;
  call.operation = action.operation;
  call.double_default = false;
  call.arguments.clear();
  call.words.clear();
  for (std::size_t i = 1; i <= arguments; ++i) {
    const bool is_id = i <= 2;
    // Only the first of several may be the world, which is neither made nor freed.
    const std::int64_t value =
        is_id ? communicator_id(words[i], i == 1 && arguments > 1) : whole(words[i], "argument");
    call.arguments.push_back(static_cast<double>(value));
  }
  call.comm = static_cast<std::uint16_t>(call.arguments.front());
  op.comm = call.comm;
  op.call = calls_->intern(call);
}

void LineParser::communicator_of_group(const Action& action, Op& op) {
  const Words& words = calls_->scratch().words;
  need(action, 2, static_cast<std::size_t>(grammar_->ranks) + 1);
  Call& call = calls_->scratch().call;
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
    fail("rank " + std::to_string(static_cast<std::int64_t>(*twice)) + " is named twice");
  }
  if (!std::binary_search(members.begin(), members.end(), static_cast<double>(rank_))) {
    fail("the ranks of the new communicator do not include this one, rank " +
         std::to_string(rank_));
  }
  op.call = calls_->intern(call);
}

void LineParser::custom(const Action& action, Op& op) {
  const Words& words = calls_->scratch().words;
  Call& call = calls_->scratch().call;
  call.operation = Operation::custom;
  call.double_default = false;
  call.comm = 0;
  call.arguments.clear();
  call.words.assign(words.begin(), words.end());
  call.words.front() = action.name;
  op.call = calls_->intern(call);
}

}  // namespace tisim
