#include "trace/script/script.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/error.hpp"
#include "trace/tit/codec/bytes.hpp"
#include "trace/trace_file.hpp"
#include "trace/vocabulary/collective_call.hpp"
#include "trace/vocabulary/files.hpp"
#include "trace/walk/communicators.hpp"
#include "trace/walk/rank_walk.hpp"

namespace tisim {

namespace {

// Instructions that are written once and then referred to by number.
class InstructionTable {
 public:
  enum class Place : std::uint8_t { known, added, full };
  struct Entry {
    Place place;
    std::uint32_t number;  // of an instruction that is known or added
  };

  // `fields`: the bytes of an instruction.
  Entry find_or_add(std::string_view fields) {
    key_.assign(fields);
    const auto known = numbers_.find(key_);
    if (known != numbers_.end()) return {Place::known, known->second};
    if (numbers_.size() >= kMaxKeptInstructions || bytes_ + fields.size() > kMaxKeptBytes) {
      return {Place::full, 0};
    }
    const auto number = static_cast<std::uint32_t>(numbers_.size());
    numbers_.emplace(key_, number);
    bytes_ += fields.size();
    return {Place::added, number};
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::string key_;
  std::size_t bytes_ = 0;
};

constexpr std::size_t kBufferedBytes = 256U << 10;
// Maximum number of distinct computations kept; further ones are written with their amounts.
constexpr std::size_t kMaxKeptComputations = 4096;
constexpr std::uint64_t kStepsBetweenReports = 4096;

enum Code : std::uint64_t { kEnd, kLine, kCompute, kKeep, kOnce, kFirstNumber };

void put_double(tit::Bytes& out, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  out.fixed32(static_cast<std::uint32_t>(bits));
  out.fixed32(static_cast<std::uint32_t>(bits >> 32));
}

[[noreturn]] void fail_at(const RankWalk& walk, const std::string& message) {
  throw TraceError(walk.reader().file(), walk.op().line, message);
}

class RankScript {
 public:
  RankScript(const std::string& path, std::int32_t ranks, std::int32_t rank, bool files)
      : path_(path), file_(create_file(path)), rank_(rank), files_(files) {
    out_.data += kScriptMagic;
    out_.varint(kScriptVersion);
    out_.varint(static_cast<std::uint64_t>(ranks));
    out_.varint(static_cast<std::uint64_t>(rank));
  }

  void add(const RankWalk& walk) {
    const Op& op = walk.op();
    // The thread that computes most represents all threads of a computation.
    if (op.kind == Kind::nop || op.kind == Kind::end || op.kind == Kind::threads) return;
    if (op.kind == Kind::compute) {
      add_computation(op.amount, op.line);
      return;
    }
    if (walk.group().group == kNoGroup && op.kind != Kind::comm_free) {
      fail_at(walk,
              "uses the communicator " + std::to_string(op.comm) + ", which this rank is not in");
    }
    if (op.kind == Kind::custom || op.kind == Kind::launch) {
      fail_at(walk, "the action " + walk.call().words.front() +
                        " is not an MPI call and cannot be executed");
    }
    if (op.kind == Kind::file || op.kind == Kind::file_offset) {
      add_file_call(walk);
      return;
    }
    if (op.kind == Kind::window) {
      add_window_call(walk);
      return;
    }
    // The collectives within a call on a file or window are left to the library.
    if (op.kind == Kind::collective && (op.flags & kContinuation) != 0) return;
    if (has_collective_call(op.kind)) {
      add_collective(walk);
    } else {
      put_fields_of(walk);
      put_instruction(op.line);
    }
  }

  void finish() {
    out_.varint(kEnd);
    flush();
  }

 private:
  // True if the operation's call is a list of numbers.
  static bool has_numbers(const Op& op) {
    const Form form = traits_of(op.kind).form;
    return is_recorded_choice(op.kind) || (form == Form::requests && (op.flags & kNumbered) != 0) ||
           form == Form::comm_split || form == Form::comm_dup || form == Form::comm_group;
  }

  void add_computation(double amount, std::uint32_t line) {
    if (amount <= 0) return;
    if (computations_ < kMaxKeptComputations) {
      Op op;
      op.kind = Kind::compute;
      op.amount = amount;
      put_fields(op, Operation::barrier, 0, amount);
      fields_.varint(0);
      const InstructionTable::Entry entry = put_instruction(line);
      if (entry.place == InstructionTable::Place::added) ++computations_;
      return;
    }
    begin_statement(line);
    out_.varint(kCompute);
    put_double(out_, amount);
    end_statement();
  }

  void add_collective(const RankWalk& walk) {
    const Op& op = walk.op();
    const CollectiveCall call(walk.call(), walk.group().size);
    if (!call.fits) fail_at(walk, explain_misfit(walk.call(), op.kind, walk.group().size));
    Op named = op;
    named.tag = traits_of(call.operation).request_tag;
    named.flags = 0;
    put_fields(named, call.operation, 0, 0);
    const bool has_neighbours = is_among_neighbours(call.operation);
    fields_.varint(6 + call.send_counts.size() + call.receive_counts.size() +
                   (has_neighbours ? 2 + call.destinations.size() + call.sources.size() : 0));
    fields_.zigzag(walk.group().size);
    fields_.zigzag(call.root);
    fields_.zigzag(call.send_count);
    fields_.zigzag(call.receive_count);
    fields_.zigzag(call.send_width);
    fields_.zigzag(call.receive_width);
    if (has_neighbours) {
      for (const auto& side : {call.destinations, call.sources}) {
        fields_.zigzag(static_cast<std::int64_t>(side.size()));
        for (const double rank : side) fields_.zigzag(static_cast<std::int64_t>(rank));
      }
    }
    for (const double count : call.send_counts) fields_.zigzag(static_cast<std::int64_t>(count));
    for (const double count : call.receive_counts) fields_.zigzag(static_cast<std::int64_t>(count));
    put_instruction(op.line);
    if (op.kind == Kind::icollective && (op.flags & kNumbered) != 0) {
      Op number;
      number.kind = Kind::number_request;
      number.bytes = op.tag;
      put_fields(number, Operation::barrier, number.bytes, 0);
      fields_.varint(0);
      put_instruction(op.line);
    }
    add_computation(call.flops, op.line);
  }

  void add_file_call(const RankWalk& walk) {
    const Op& op = walk.op();
    if (op.kind == Kind::file_offset) {
      numbers_.push_back(op.bytes);
      put_file_call(op.line);
      return;
    }
    const Operation call = file_call_of(op);
    if (!files_) {
      fail_at(walk, "the action " + std::string(name_of(op.kind, call)) +
                        " works on a file; give a directory for files with --scratch");
    }
    // A call that synchronises is represented by the operation after its barrier.
    if (file_traits_of(call).synchronises && (op.flags & kContinuation) == 0) return;
    file_call_ = op;
    numbers_.clear();
    switch (posix_equivalent(call)) {
      case Operation::open:
        numbers_.push_back(static_cast<std::int64_t>(walk.call().arguments.front()));
        numbers_.push_back(static_cast<std::int64_t>(walk.call().words[1].size()));
        put_letters(walk.call().words[1]);
        put_letters(file_name(walk.call().words.front(), rank_));
        break;
      case Operation::stat:
      case Operation::unlink:
      case Operation::mkdir:
        put_letters(file_name(walk.call().words.front(), rank_));
        break;
      case Operation::lseek:
        numbers_.push_back(static_cast<std::int64_t>(walk.call().arguments.front()));
        return;  // the offset follows
      case Operation::file_set_view:
        for (const double number : walk.call().arguments) {
          numbers_.push_back(static_cast<std::int64_t>(number));
        }
        break;
      case Operation::pread:
      case Operation::pwrite:
        return;
      default:
        break;
    }
    put_file_call(op.line);
  }

  // Only the call itself is written; the rest of its line is left to the library.
  void add_window_call(const RankWalk& walk) {
    const Op& op = walk.op();
    if ((op.flags & kContinuation) != 0) return;
    const Operation call = window_call_of(op);
    const bool has_group = window_traits_of(call).form == WindowForm::group;
    put_fields(op, call, has_group ? 0 : op.bytes, 0);
    fields_.varint(has_group ? walk.call().arguments.size() : 0);
    if (has_group) {
      for (const double rank : walk.call().arguments) {
        fields_.zigzag(static_cast<std::int64_t>(rank));
      }
    }
    put_instruction(op.line);
  }

  void put_letters(std::string_view text) {
    for (const char letter : text) numbers_.push_back(static_cast<unsigned char>(letter));
  }

  void put_file_call(std::uint32_t line) {
    const Operation call = file_call_of(file_call_);
    const Operation does = posix_equivalent(call);
    const bool has_call = does == Operation::open || does == Operation::lseek ||
                          does == Operation::file_set_view || does == Operation::stat ||
                          does == Operation::unlink || does == Operation::mkdir;
    file_call_.tag = 0;
    put_fields(file_call_, call, has_call ? 0 : file_call_.bytes, 0);
    fields_.varint(numbers_.size());
    for (const std::int64_t number : numbers_) fields_.zigzag(number);
    put_instruction(line);
  }

  // Writes the fields of an operation that is not a collective.
  void put_fields_of(const RankWalk& walk) {
    const Op& op = walk.op();
    const bool is_sleep = op.kind == Kind::sleep;
    if (!has_numbers(op)) {
      const bool has_bytes = !is_sleep && op.kind != Kind::comm_free;
      put_fields(op, Operation::barrier, has_bytes ? op.bytes : 0, is_sleep ? op.amount : 0);
      fields_.varint(0);
      return;
    }
    const Call& call = walk.call();
    put_fields(op, Operation::barrier, 0, 0);
    fields_.varint(call.arguments.size());
    for (const double number : call.arguments) fields_.zigzag(static_cast<std::int64_t>(number));
  }

  void put_fields(const Op& op, Operation operation, std::int64_t bytes, double amount) {
    fields_.data.clear();
    fields_.varint(static_cast<std::uint64_t>(op.kind));
    fields_.varint(static_cast<std::uint64_t>(operation));
    fields_.varint(op.flags & (kNumbered | kSourceLost));
    fields_.varint(op.comm);
    fields_.zigzag(op.peer);
    fields_.zigzag(op.tag);
    fields_.zigzag(bytes);
    put_double(fields_, amount);
  }

  // Writes the instruction whose fields have been assembled.
  InstructionTable::Entry put_instruction(std::uint32_t line) {
    begin_statement(line);
    const InstructionTable::Entry entry = table_.find_or_add(fields_.data);
    switch (entry.place) {
      case InstructionTable::Place::known:
        out_.varint(kFirstNumber + entry.number);
        break;
      case InstructionTable::Place::added:
        out_.varint(kKeep);
        out_.data += fields_.data;
        break;
      case InstructionTable::Place::full:
        out_.varint(kOnce);
        out_.data += fields_.data;
        break;
    }
    end_statement();
    return entry;
  }

  void begin_statement(std::uint32_t line) {
    if (line != line_ + 1) {
      out_.varint(kLine);
      out_.varint(line);
    }
    line_ = line;
  }

  void end_statement() {
    if (out_.data.size() >= kBufferedBytes) flush();
  }

  void flush() {
    write_at(*file_, out_.data, written_, path_);
    written_ += out_.data.size();
    out_.data.clear();
  }

  std::string path_;
  std::shared_ptr<const Descriptor> file_;
  tit::Bytes out_;
  std::uint64_t written_ = 0;
  tit::Bytes fields_;  // of the instruction being assembled
  InstructionTable table_;
  std::size_t computations_ = 0;  // in the table
  std::uint32_t line_ = 0;        // of the previous statement
  std::int32_t rank_;
  bool files_;                         // calls on files are executed
  Op file_call_;                       // the last one
  std::vector<std::int64_t> numbers_;  // its numbers
};

}  // namespace

void write_scripts(const TraceSet& set, const std::string& directory, bool files,
                   const Progress& progress) {
  constexpr double kFollowed = 0.4;  // share of the work spent following the communicators
  const Communicators communicators = Communicators::of(set, part_of(progress, 0.0, kFollowed));
  const double all = std::max(static_cast<double>(set.bytes()), 1.0);
  const std::shared_ptr<CallTable> calls = RankWalk::shared_calls(set);
  std::uint64_t before = 0;
  for (std::int32_t rank = 0; rank < set.ranks(); ++rank) {
    RankWalk walk(set, communicators, rank, nullptr, RankWalk::kUsualBatch, calls);
    RankScript script(directory + "/rank-" + std::to_string(rank) + ".script", set.ranks(), rank,
                      files);
    for (std::uint64_t steps = 1; walk.next(); ++steps) {
      script.add(walk);
      if (steps % kStepsBetweenReports == 0) {
        const auto done = static_cast<double>(before + walk.reader().bytes_read());
        report_progress(progress, kFollowed + (1 - kFollowed) * done / all);
      }
    }
    script.finish();
    before += walk.reader().bytes_read();
  }
}

}  // namespace tisim
