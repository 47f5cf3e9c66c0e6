// Lines about files.
#include <algorithm>
#include <limits>

#include "trace/grammar/line_parser.hpp"
#include "trace/grammar/words.hpp"
#include "trace/vocabulary/file_name.hpp"
#include "trace/vocabulary/views/file_view.hpp"

namespace tisim {

namespace {

constexpr std::string_view kSize = "size=";

}  // namespace

std::size_t LineParser::file(const Action& action, Op* out) {
  out->tag = static_cast<std::int32_t>(action.operation);
  const std::size_t made = own_part(action, out);
  return file_traits_of(action.operation).synchronises ? synchronised(out, made) : made;
}

// The ranks wait for each other, then each does its part.
std::size_t LineParser::synchronised(Op* out, std::size_t made) {
  Call& call = calls_->scratch().call;
  call = Call{};
  call.operation = Operation::barrier;
  call.comm = at_hand().comm;
  std::copy_backward(out, out + made, out + 2 + made);
  out[1] = Op{};
  out[1].kind = Kind::collective;
  out[1].comm = at_hand().comm;
  out[1].call = calls_->intern(call);
  return 2 + made;
}

// What a rank does in the call.
std::size_t LineParser::own_part(const Action& action, Op* out) {
  const Words& words = calls_->scratch().words;
  if (ends_split(action.operation)) {
    need(action, 1, 1);
    out->peer = handle(words[1]);
    return 1;
  }
  switch (own_part_of(action.operation)) {
    case Operation::open:
      opened_file(action, *out);
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
      return offset(out, count(words[3], "offset"));
    case Operation::lseek:
      return sought(action, out);
    case Operation::file_set_view:
      viewed(action, *out);
      return 1;
    default:
      named_file(action, *out);
      return 1;
  }
}

void LineParser::opened_file(const Action& action, Op& op) {
  const Words& words = calls_->scratch().words;
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
         ": read, write, create, truncate, append, exclusive; one of r, w and a among them");
  }
  const std::string name(words[2]);
  named_file(action, op);
  Call& call = calls_->scratch().call;
  call.words = {name, std::string(letters)};
  call.arguments.assign({static_cast<double>(size)});
  op.call = calls_->intern(call);
}

void LineParser::viewed(const Action& action, Op& op) {
  const Words& words = calls_->scratch().words;
  if (words.size() < 2) need(action, 1, 1);
  op.peer = handle(words[1]);
  Call& call = calls_->scratch().call;
  call = Call{};
  call.operation = Operation::file_set_view;
  for (std::size_t i = 2; i < words.size(); ++i) {
    call.arguments.push_back(static_cast<double>(count(words[i], "number of a view")));
  }
  const std::string fault = words.size() > 2 ? FileView::fault(call.arguments) : std::string{};
  if (!fault.empty()) fail(fault);
  op.call = calls_->intern(call);
}

void LineParser::named_file(const Action& action, Op& op) {
  const Words& words = calls_->scratch().words;
  const bool is_open = own_part_of(action.operation) == Operation::open;
  if (!is_open) need(action, 1, 1);
  const std::string_view name = words[is_open ? 2 : 1];
  if (!is_file_name(name)) {
    fail("in the name " + quoted(name) +
         " a % is followed by d or 0Nd, which stands for the number of the rank, or by another %");
  }
  Call& call = calls_->scratch().call;
  call = Call{};
  call.operation = action.operation;
  call.words.assign({std::string(name)});
  if (!is_open) op.call = calls_->intern(call);
}

std::size_t LineParser::sought(const Action& action, Op* out) {
  const Words& words = calls_->scratch().words;
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
  Call& call = calls_->scratch().call;
  call = Call{};
  call.operation = Operation::lseek;
  call.arguments.assign({static_cast<double>(from)});
  out->call = calls_->intern(call);
  return offset(out, distance);
}

// The second operation of a line.
std::size_t LineParser::offset(Op* out, std::int64_t offset) {
  out[1] = Op{};
  out[1].kind = Kind::file_offset;
  out[1].bytes = offset;
  if (own_part_of(file_call_of(out[0])) != Operation::lseek &&
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

}  // namespace tisim
