// Requests in a line: what makes one, what names one, by its key or by its number.
#include <algorithm>
#include <vector>

#include "trace/grammar/line_parser.hpp"

namespace tisim {

// Takes the last arguments `comm=`, `request=` and `requests=` off the line, each of them once.
void LineParser::take_named_arguments() {
  CallTable::Scratch& hand = at_hand();
  for (bool has_comm = false; hand.words.size() > 1;) {
    const std::string_view last = hand.words.back();
    const std::size_t equals = last.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = last.substr(0, equals);
    const std::string_view value = last.substr(equals + 1);
    if (name == "comm" && !has_comm) {
      hand.comm = static_cast<std::uint16_t>(communicator_id(value, true));
      has_comm = true;
    } else if (name == "request" && hand.request < 0) {
      hand.request = request_number(value);
    } else if (name == "requests" && hand.requests.data() == nullptr) {
      hand.requests = value;
    } else {
      return;
    }
    hand.words.pop_back();
  }
}

// The line has `request=`: gives its request the number, or names that request.
std::size_t LineParser::number_request(const Action& action, Op* out, std::size_t made) {
  Kind kind = Kind::number_request;
  switch (out->kind) {
    case Kind::wait:
    case Kind::test:
    case Kind::start:
    case Kind::cancel:
    case Kind::request_free:
      return made;  // see request()
    case Kind::icollective:
      out->flags |= kNumbered;
      out->tag = at_hand().request;
      return made;
    case Kind::isend:
    case Kind::issend:
    case Kind::ibsend:
    case Kind::irecv:
      break;
    case Kind::send_init:
    case Kind::ssend_init:
    case Kind::bsend_init:
    case Kind::recv_init:
      kind = Kind::number_persistent;
      break;
    case Kind::file:
      if (file_traits_of(action.operation).makes_request) break;
      [[fallthrough]];
    default:
      fail(std::string(action.name) + " takes no request=: it neither makes nor names a request");
  }
  out[made] = Op{};
  out[made].kind = kind;
  out[made].bytes = at_hand().request;
  return made + 1;
}

void LineParser::request(const Action& action, Op& op) {
  const Words& words = calls_->scratch().words;
  if (action.form == Form::start && words.size() >= 5) {
    started(op);
    return;
  }
  if (at_hand().request >= 0) {
    // A key may stand before it, for other readers; it is not used.
    if (words.size() > 1) need(action, 3, 3);
    for (std::size_t i = 1; i < words.size(); ++i) whole(words[i], "argument");
    op.flags |= kNumbered;
    op.peer = kAnySource;
    op.bytes = at_hand().request;
    return;
  }
  const bool completes = action.kind == Kind::wait || action.kind == Kind::test;
  if (grammar_->dialect == Dialect::legacy && action.form == Form::request) {
    if (!completes) wrong_arguments(action);
    need(action, 0, 0);
    op.kind = action.kind == Kind::wait ? Kind::wait_last : Kind::test_last;
    return;
  }
  need(action, 3, 3);
  const std::int64_t from = whole(words[1], "source");
  const std::int64_t to = whole(words[2], "destination");
  if (from == kSimGridNull && to == kSimGridNull) {  // how SimGrid writes a collective's request
    if (!completes) {
      fail(std::string(action.name) +
           " is not for the request of a collective; MPI allows only to wait for it or to test it");
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

// `Start dst tag bytes type`, which SimGrid's tracer writes for a send and, then with this rank for
// `dst`, for a receive. The type is that of the buffer, the size is already in bytes.
void LineParser::started(Op& op) {
  const Words& words = calls_->scratch().words;
  const std::int64_t to = whole(words[1], "destination");
  op.tag = tag(words[2], true);
  op.bytes = count(words[3], "size");
  if (to == rank_ && at_hand().comm == 0) {
    op.kind = Kind::irecv;
    op.peer = kAnySource;
    op.flags |= kSourceLost;
  } else {
    op.kind = Kind::isend;
    op.peer = destination(words[1]);
  }
}

void LineParser::requests(const Action& action, Op& op) {
  need(action, 0, 1);
  const Words& words = calls_->scratch().words;
  op.bytes = words.size() > 1 ? count(words[1], "number of requests") : 0;
  if (at_hand().requests.data() != nullptr) list_requests(op);
}

void LineParser::list_requests(Op& op) {
  Call& call = calls_->scratch().call;
  call = Call{};
  call.operation = Operation::requests;
  for (std::string_view rest = at_hand().requests; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    call.arguments.push_back(request_number(rest.substr(0, end)));
    if (end + 1 == rest.size()) fail("requests= ends in a comma; a number follows each");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::vector<double> sorted = call.arguments;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    fail("request " + std::to_string(static_cast<std::int64_t>(*twice)) +
         " stands twice in requests=");
  }
  op.flags |= kNumbered;
  op.call = calls_->intern(call);
}

}  // namespace tisim
