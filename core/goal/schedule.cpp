#include "goal/schedule.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <utility>

namespace tisim {

namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

constexpr std::uint64_t kMagic = 4223;
constexpr std::uint32_t kMaxRanks = 1 << 24;
constexpr std::size_t kRankBytes = 8;  // minimum size of a rank in the text
constexpr std::int64_t kMaxAmount = std::numeric_limits<std::int64_t>::max();

// Parses the text token by token.
class Text {
 public:
  explicit Text(std::string_view text) : text_(text) {}

  GoalSchedule read() {
    GoalSchedule made;
    std::size_t ranks_read = 0;
    bool counted = false;
    while (next()) {
      if (word_ == "num_ranks") {
        if (counted) fail("num_ranks must occur once, above the ranks");
        const std::int64_t count = number(1, kMaxRanks);
        // Checked before allocating: each rank has at least a line "rank N {}".
        if (static_cast<std::size_t>(count) > text_.size() / kRankBytes + 1)
          fail("ends before its " + std::to_string(count) + " ranks");
        counted = true;
        made.ranks.resize(static_cast<std::size_t>(count));
      } else if (word_ == "rank" && counted) {
        const std::int64_t rank = number(0, kMaxRanks);
        if (rank >= static_cast<std::int64_t>(made.ranks.size()))
          fail("rank " + std::to_string(rank) + " is not below num_ranks");
        GoalRank& program = made.ranks[static_cast<std::size_t>(rank)];
        if (!program.lines.empty()) fail("rank " + std::to_string(rank) + " occurs twice");
        want("{");
        read_rank(program, rank, made);
        ++ranks_read;
      } else {
        fail("expected 'num_ranks N' and then 'rank N {', not '" + shown() + "'");
      }
    }
    if (!counted) fail("lacks the line num_ranks of GOAL schedules");
    if (ranks_read < made.ranks.size()) {
      const auto missing =
          std::find_if(made.ranks.begin(), made.ranks.end(),
                       [](const GoalRank& program) { return program.lines.empty(); });
      line_ = 0;
      fail("has no rank " + std::to_string(missing - made.ranks.begin()) + " of its " +
           std::to_string(made.ranks.size()) + " ranks");
    }
    for (GoalRank& program : made.ranks) program.lines.pop_back();
    return made;
  }

 private:
  // Bytes outside printable ASCII are shown as '?'.
  [[noreturn]] void fail(std::string what) const {
    std::replace_if(
        what.begin(), what.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    throw GoalError(what, line_);
  }
  std::string shown() const { return std::string(word_.substr(0, 60)); }

  // Reads the next word: text between blanks, a brace, or text that ends with a colon.
  bool next() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
      } else if (c == '/' && text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c == '/' && text_.substr(at_, 2) == "/*") {
        const std::size_t end = std::min(text_.find("*/", at_ + 2), text_.size());
        line_ += static_cast<std::size_t>(
            std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                       text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        at_ = std::min(end + 1, text_.size() - 1);
      } else if (c != ' ' && c != '\t' && c != '\r') {
        break;
      }
    }
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '/') break;
      if ((c == '{' || c == '}') && at_ > begin) break;
      ++at_;
      if (c == ':' || c == '{' || c == '}') break;
    }
    if (at_ == begin && at_ < text_.size()) ++at_;  // a '/' that does not begin a comment
    word_ = text_.substr(begin, at_ - begin);
    return !word_.empty();
  }

  // Consumes the next word if it is `wanted`.
  bool next_is(std::string_view wanted) {
    const std::size_t at = at_, line = line_;
    const std::string_view word = word_;
    if (next() && word_ == wanted) return true;
    at_ = at;
    line_ = line;
    word_ = word;
    return false;
  }

  void want(std::string_view wanted) {
    if (!next() || word_ != wanted) fail("expected '" + std::string(wanted) + "'");
  }

  std::int64_t number(std::int64_t least, std::int64_t most, std::string_view unit = {}) {
    if (!next()) fail("the schedule ends where a number is expected");
    std::int64_t value = 0;
    const char* const end = word_.data() + word_.size();
    const auto [stop, error] = std::from_chars(word_.data(), end, value);
    if (error == std::errc::result_out_of_range || value > most)
      fail(shown() + " is above " + std::to_string(most));
    const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
    if (error != std::errc{} || (rest != unit && !(rest.empty() && next_is(unit))))
      fail("'" + shown() + "' is not a number");
    if (value < least) fail(shown() + " is below " + std::to_string(least));
    return value;
  }

  void read_rank(GoalRank& rank, std::int64_t number, GoalSchedule& made) {
    std::unordered_map<std::string_view, std::uint32_t> labels;
    Pairs pairs;
    while (next()) {
      if (word_ == "}") {
        rank.set_dependencies(pairs);
        rank.lines.push_back(0);  // marks the rank as defined, even if it has no operations
        return;
      }
      std::string_view label;
      if (word_.back() == ':') {
        label = word_.substr(0, word_.size() - 1);
      } else if (const std::string_view first = word_;
                 first != "send" && first != "recv" && first != "calc") {
        if (!next()) break;
        if (word_ == ":") {
          label = first;
        } else {
          const bool starts = word_ == "irequires";
          if (!starts && word_ != "requires") {
            word_ = first;
            fail_unknown();
          }
          const std::uint32_t later = labelled(labels, first);
          if (!next()) break;
          pairs.emplace_back(2 * labelled(labels, word_) + starts, later);
          continue;
        }
      }
      if (!label.empty() && !next()) break;
      add(rank, made);
      if (!label.empty() &&
          !labels.emplace(label, static_cast<std::uint32_t>(rank.ops.size() - 1)).second)
        fail("the label " + std::string(label.substr(0, 60)) + " occurs twice");
    }
    fail("ends within rank " + std::to_string(number));
  }

  // Reports the line of the current word.
  [[noreturn]] void fail_unknown() const {
    const auto at = static_cast<std::size_t>(word_.data() - text_.data());
    std::string_view row = text_.substr(text_.rfind('\n', at) + 1);
    row = row.substr(0, row.find('\n'));
    row.remove_prefix(std::min(row.find_first_not_of(" \t\r"), row.size()));
    row = row.substr(0, row.find_last_not_of(" \t\r") + 1).substr(0, 60);
    fail("'" + std::string(row) +
         "' is not a send, recv, calc, requires or irequires of GOAL; schedules of LogGOPSim 2 "
         "(put, append and so on) are not supported");
  }

  std::uint32_t labelled(const std::unordered_map<std::string_view, std::uint32_t>& labels,
                         std::string_view label) const {
    const auto entry = labels.find(label);
    if (entry == labels.end()) fail("no label " + std::string(label.substr(0, 60)) + " above");
    return entry->second;
  }

  void add(GoalRank& rank, GoalSchedule& made) {
    if (rank.ops.size() >= kMaxGoalOps) fail("a rank has too many operations");
    GoalOp op;
    rank.lines.push_back(static_cast<std::uint32_t>(line_));
    if (word_ == "calc") {
      op.amount = number(0, kMaxAmount);
    } else if (word_ == "send" || word_ == "recv") {
      op.kind = word_ == "send" ? GoalKind::send : GoalKind::receive;
      op.amount = number(0, kMaxAmount, "b");
      const bool sends = op.kind == GoalKind::send;
      if (!next() || word_ != (sends ? "to" : "from"))
        fail(sends ? "a send needs 'to' and a rank" : "a recv needs 'from' and a rank");
      op.peer = static_cast<std::int32_t>(number(kGoalAny, kMaxRanks));
      if (sends && op.peer == kGoalAny) fail("a send without a destination rank");
      if (op.peer >= static_cast<std::int32_t>(made.ranks.size()))
        fail("no rank " + std::to_string(op.peer));
      if (next_is("tag")) {
        const std::int64_t tag = number(kGoalAny, kMaxAmount);
        if (tag > std::numeric_limits<std::int32_t>::max())
          fail("the tag " + std::to_string(tag) + " is above 2^31 - 1");
        op.tag = static_cast<std::int32_t>(tag);
      }
    } else {
      fail_unknown();
    }
    if (next_is("cpu")) op.cpu = static_cast<std::uint8_t>(number(0, 255));
    if (next_is("nic")) number(0, 255);
    rank.ops.push_back(op);
  }

  std::string_view text_, word_;
  std::size_t at_ = 0, line_ = 1;
};

// Reads the integers of a binary schedule.
class Bytes {
 public:
  explicit Bytes(std::string_view data) : data_(data) {}

  template <class T>
  T take() {
    if (data_.size() < sizeof(T)) throw GoalError("is cut", 0);
    T value;
    std::memcpy(&value, data_.data(), sizeof(T));
    data_.remove_prefix(sizeof(T));
    return value;
  }
  std::size_t left() const { return data_.size(); }

 private:
  std::string_view data_;
};

[[noreturn]] void fail_rank(std::size_t rank) {
  throw GoalError("rank " + std::to_string(rank) +
                      " is not in the format of LogGOPSim's txt2bin; schedules of LogGOPSim "
                      "2 (put, append and so on) are not supported",
                  0);
}

// Size of a node in bytes.
constexpr std::size_t kNodeBytes = 39;

void read_binary_rank(std::string_view data, std::size_t number, GoalSchedule& made) {
  GoalRank& rank = made.ranks[number];
  Bytes bytes(data);
  if (data.size() < 8) fail_rank(number);
  const std::uint32_t count = bytes.take<std::uint32_t>();
  const std::uint32_t roots = bytes.take<std::uint32_t>();
  if (count > kMaxGoalOps || bytes.left() / 4 < roots ||
      (bytes.left() - 4 * std::size_t{roots}) / kNodeBytes < count)
    fail_rank(number);
  for (std::uint32_t i = 0; i < roots; ++i) bytes.take<std::uint32_t>();
  struct List {
    std::uint32_t size, at;
  };
  std::vector<List> lists;  // by operation: the dependents of its end, then those of its start
  for (std::uint32_t i = 0; i < count; ++i) {
    GoalOp op;
    bytes.take<std::uint32_t>();  // the node's number, assigned anew here
    const auto kind = bytes.take<std::uint8_t>();
    const auto peer = bytes.take<std::uint32_t>();
    const auto size = bytes.take<std::uint64_t>();
    const auto tag = bytes.take<std::uint32_t>();
    op.cpu = bytes.take<std::uint8_t>();
    bytes.take<std::uint8_t>();
    if (kind < 1 || kind > 3 || size > static_cast<std::uint64_t>(kMaxAmount)) fail_rank(number);
    op.kind = static_cast<GoalKind>(kind);
    op.amount = static_cast<std::int64_t>(size);
    op.peer = static_cast<std::int32_t>(peer);
    op.tag = static_cast<std::int32_t>(tag);
    const bool of_message = op.kind != GoalKind::compute;
    const auto fail = [&](const std::string& what) {
      throw GoalError(
          "rank " + std::to_string(number) + ", operation " + std::to_string(i) + ": " + what, 0);
    };
    if (of_message &&
        (peer >= made.ranks.size() && (op.kind == GoalKind::send || op.peer != kGoalAny)))
      fail("no rank " + std::to_string(peer));
    if (of_message && op.tag < kGoalAny)
      fail("the tag " + std::to_string(tag) + " is above 2^31 - 1");
    rank.ops.push_back(op);
    for (int part = 0; part < 2; ++part) {
      const auto length = bytes.take<std::uint32_t>();
      lists.push_back({length, bytes.take<std::uint32_t>()});
    }
  }
  if (bytes.left() % 4 != 0) fail_rank(number);
  std::vector<std::uint32_t> listed(bytes.left() / 4);
  for (std::uint32_t& each : listed) {
    each = bytes.take<std::uint32_t>();
    if (each >= count) fail_rank(number);
  }
  Pairs pairs;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].size == 0) continue;
    if (lists[i].at > listed.size() || listed.size() - lists[i].at < lists[i].size)
      fail_rank(number);
    for (std::uint32_t k = 0; k < lists[i].size; ++k)
      pairs.emplace_back(static_cast<std::uint32_t>(i), listed[lists[i].at + k]);
  }
  if (pairs.size() != listed.size()) fail_rank(number);
  rank.set_dependencies(pairs);
}

GoalSchedule read_binary(std::string_view content) {
  Bytes bytes(content);
  bytes.take<std::uint64_t>();
  GoalSchedule made;
  const std::uint32_t ranks = bytes.take<std::uint32_t>();
  bytes.take<std::uint8_t>();
  bytes.take<std::uint8_t>();
  if (ranks == 0 || bytes.left() / 16 < ranks)
    throw GoalError("is truncated: its " + std::to_string(ranks) + " ranks are missing", 0);
  made.ranks.resize(ranks);
  const std::string_view body = content.substr(sizeof kMagic);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto begin = bytes.take<std::uint64_t>(), end = bytes.take<std::uint64_t>();
    if (begin > end || end > body.size())
      throw GoalError("is truncated: rank " + std::to_string(rank) + " is incomplete", 0);
    read_binary_rank(body.substr(begin, end - begin), rank, made);
  }
  return made;
}

}  // namespace

void GoalRank::set_dependencies(std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs) {
  first_.assign(2 * ops.size() + 1, 0);
  later_.resize(pairs.size());
  for (const auto& [earlier, later] : pairs) {
    ++first_[earlier + 1];
    ++ops[later].needs;
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (const auto& [earlier, later] : pairs) later_[next[earlier]++] = later;
}

GoalSchedule read_goal(std::string_view content) {
  std::uint64_t magic = 0;
  if (content.size() >= sizeof magic) std::memcpy(&magic, content.data(), sizeof magic);
  return magic == kMagic ? read_binary(content) : Text(content).read();
}

}  // namespace tisim
