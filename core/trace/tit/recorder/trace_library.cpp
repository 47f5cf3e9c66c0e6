// The C interface: no exception leaves it.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "trace/tit/codec/bytes.hpp"
#include "trace/tit/recorder/part_log.hpp"
#include "trace/tit/recorder/part_set.hpp"
#include "trace/tit/recorder/rank_recorder.hpp"
#include "trace/tit/recorder/tisim_trace.h"

using tisim::tit::Attribute;
using tisim::tit::AttributeKind;
using tisim::tit::AttributeRecorder;
using tisim::tit::FormatError;
using tisim::tit::PartSet;
using tisim::tit::RankRecorder;
using tisim::tit::RecordedShape;
using tisim::tit::write_all;

struct tt_rank {
  RankRecorder recorder;
  int status = TT_OK;
  unsigned comments = 0;
  bool ended = false;
};

namespace {

constexpr std::size_t kUsualMemory = 1 << 20;
constexpr unsigned kMaxComments = 1000;
constexpr std::size_t kMaxWords = 1 << 16;

// Runs `what`, which returns a status, and converts exceptions to one.
template <class Function>
int guarded(const Function& what) noexcept {
  try {
    return what();
  } catch (const FormatError&) {
    return TT_DAMAGED;
  } catch (const std::bad_alloc&) {
    return TT_MEMORY;
  } catch (...) {
    return TT_INVALID;
  }
}

// The same for a recording rank; a system error stops it permanently.
template <class Function>
int recording(tt_rank* rank, const Function& what) noexcept {
  if (rank == nullptr) return TT_INVALID;
  if (rank->status != TT_OK) return rank->status;
  if (rank->ended) return TT_INVALID;
  const int status = guarded([&] { return what(rank->recorder); });
  if (status == TT_MEMORY) {
    rank->status = TT_MEMORY;
  } else if (!rank->recorder.log().error().empty()) {
    rank->status = TT_FILE;
    return TT_FILE;
  }
  return status;
}

int give(const std::string& bytes, tt_bytes* out) {
  void* const data = std::malloc(bytes.empty() ? 1 : bytes.size());
  if (data == nullptr) return TT_MEMORY;
  std::memcpy(data, bytes.data(), bytes.size());
  *out = {data, bytes.size()};
  return TT_OK;
}

std::string_view view(const tt_bytes* bytes) {
  return {static_cast<const char*>(bytes->data), bytes->size};
}

int read_file(const char* path, std::string& bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rb"), std::fclose);
  if (!file) return TT_FILE;
  char buffer[1 << 14];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    bytes.append(buffer, got);
  }
  return std::ferror(file.get()) != 0 ? TT_FILE : TT_OK;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

bool is_attribute(const AttributeRecorder& attributes, int number) {
  return number >= 0 && static_cast<std::size_t>(number) < attributes.declared();
}

bool can_be_value(std::int64_t value) {
  return value > -tisim::tit::kAttributeLimit && value < tisim::tit::kAttributeLimit;
}

// Writes a file that has all bytes, or does not appear.
int write_file(const std::string& path, const std::string& bytes) {
  const std::string unfinished = path + ".unfinished";
  const int file = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return TT_FILE;
  const bool is_written = write_all(file, bytes.data(), bytes.size());
  const bool is_closed = close(file) == 0;
  if (is_written && is_closed && std::rename(unfinished.c_str(), path.c_str()) == 0) return TT_OK;
  std::remove(unfinished.c_str());
  return TT_FILE;
}

}  // namespace

extern "C" {

int tt_interface(void) { return TT_INTERFACE; }

void tt_free(tt_bytes* bytes) {
  if (bytes == nullptr) return;
  std::free(bytes->data);
  *bytes = {nullptr, 0};
}

tt_rank* tt_rank_open(uint32_t rank, uint32_t ranks, size_t memory, const char* path) {
  try {
    std::unique_ptr<tt_rank> made(new tt_rank{
        RankRecorder(rank, ranks, memory == 0 ? kUsualMemory : memory, path == nullptr ? "" : path),
        TT_OK, 0, false});
    if (rank >= ranks) made->status = TT_INVALID;
    if (!made->recorder.log().error().empty()) made->status = TT_FILE;
    return made.release();
  } catch (...) {
    return nullptr;
  }
}

int tt_word(tt_rank* rank, const char* line, uint64_t rank_arguments) {
  return recording(rank, [&](RankRecorder& recorder) {
    if (line == nullptr || !RecordedShape::error_of(line).empty()) return int{TT_INVALID};
    const RecordedShape shape = RecordedShape::of(line, rank_arguments);
    if (shape.is_comment() || recorder.shapes() >= kMaxWords) return int{TT_INVALID};
    return static_cast<int>(recorder.shape(shape));
  });
}

int tt_call(tt_rank* rank, int word, const int64_t* arguments) {
  return recording(rank, [&](RankRecorder& recorder) {
    if (word <= 0 || static_cast<std::size_t>(word) >= recorder.shapes()) return int{TT_INVALID};
    const auto shape = static_cast<std::uint32_t>(word);
    if (arguments == nullptr && recorder.holes(shape) > 0) return int{TT_INVALID};
    recorder.call(shape, arguments);
    return int{TT_OK};
  });
}

int tt_compute(tt_rank* rank, uint64_t amount) {
  return recording(rank, [&](RankRecorder& recorder) {
    const auto number = static_cast<std::int64_t>(amount);
    if (number < 0) return int{TT_INVALID};
    recorder.call(tisim::tit::kRecordedCompute, &number);
    return int{TT_OK};
  });
}

int tt_attribute_name(tt_rank* rank, const char* name, int kind) {
  return recording(rank, [&](RankRecorder& recorder) {
    if (name == nullptr || !Attribute::error_of_name(name).empty()) return int{TT_INVALID};
    if (kind < 0 || kind >= tisim::tit::kAttributeKinds) return int{TT_INVALID};
    Attribute attribute;
    attribute.name = name;
    attribute.kind = static_cast<AttributeKind>(kind);
    const std::int64_t number = recorder.attributes().declare(attribute);
    return number == AttributeRecorder::kRefused ? int{TT_INVALID} : static_cast<int>(number);
  });
}

int64_t tt_text(tt_rank* rank, const char* text) {
  return recording(rank, [&](RankRecorder& recorder) {
    if (text == nullptr || !Attribute::error_of_text(text).empty()) return int{TT_INVALID};
    const std::int64_t number = recorder.attributes().text(text);
    return number == AttributeRecorder::kRefused ? int{TT_INVALID} : static_cast<int>(number);
  });
}

int tt_attribute(tt_rank* rank, int attribute, int64_t value) {
  return recording(rank, [&](RankRecorder& recorder) {
    AttributeRecorder& attributes = recorder.attributes();
    if (!is_attribute(attributes, attribute) || !can_be_value(value)) return int{TT_INVALID};
    const auto number = static_cast<std::uint32_t>(attribute);
    if (attributes.is_text(number) && !attributes.has_text(value)) return int{TT_INVALID};
    attributes.set(number, value);
    return int{TT_OK};
  });
}

int64_t tt_attribute_later(tt_rank* rank, int attribute) {
  std::int64_t ticket = TT_INVALID;
  const int status = recording(rank, [&](RankRecorder& recorder) {
    AttributeRecorder& attributes = recorder.attributes();
    if (!is_attribute(attributes, attribute)) return int{TT_INVALID};
    const auto number = static_cast<std::uint32_t>(attribute);
    if (attributes.is_fixed(number)) return int{TT_INVALID};
    ticket = attributes.set_later(number);
    return int{TT_OK};
  });
  return status == TT_OK ? ticket : status;
}

int tt_attribute_known(tt_rank* rank, int64_t ticket, int64_t value) {
  return recording(rank, [&](RankRecorder& recorder) {
    const bool is_taken = can_be_value(value) && recorder.attributes().set_ticket(ticket, value);
    return is_taken ? int{TT_OK} : int{TT_INVALID};
  });
}

int tt_comment(tt_rank* rank, const char* text) {
  return recording(rank, [&](RankRecorder& recorder) {
    if (text == nullptr || rank->comments >= kMaxComments) return int{TT_INVALID};
    const std::string line = std::string("# ") + text;
    if (!RecordedShape::error_of(line).empty()) return int{TT_INVALID};
    ++rank->comments;
    recorder.remark(RecordedShape::of(line, 0));
    return int{TT_OK};
  });
}

int tt_flush(tt_rank* rank) {
  return recording(rank, [](RankRecorder& recorder) {
    recorder.flush();
    return int{TT_OK};
  });
}

int tt_rank_end(tt_rank* rank) {
  const int status = recording(rank, [](RankRecorder& recorder) {
    recorder.end();
    return int{TT_OK};
  });
  if (status == TT_OK) rank->ended = true;
  return status;
}

const char* tt_error(const tt_rank* rank) {
  if (rank == nullptr) return "there is no rank";
  switch (rank->status) {
    case TT_FILE:
      return rank->recorder.log().error().c_str();
    case TT_MEMORY:
      return "there is no memory";
    case TT_INVALID:
      return "the number of the rank is not below the number of ranks";
    default:
      return "";
  }
}

size_t tt_memory(const tt_rank* rank) { return rank == nullptr ? 0 : rank->recorder.memory(); }

uint64_t tt_calls(const tt_rank* rank) { return rank == nullptr ? 0 : rank->recorder.calls(); }

int tt_rank_part(tt_rank* rank, tt_bytes* part) {
  if (rank == nullptr || part == nullptr) return TT_INVALID;
  return guarded(
      [&] { return give(PartSet::from_log(rank->recorder.log().contents()).write(), part); });
}

void tt_rank_close(tt_rank* rank) { delete rank; }

int tt_part_of_file(const char* path, tt_bytes* part) {
  if (path == nullptr || part == nullptr) return TT_INVALID;
  return guarded([&] {
    std::string log;
    const int status = read_file(path, log);
    return status == TT_OK ? give(PartSet::from_log(std::move(log)).write(), part) : status;
  });
}

int tt_merge(const tt_bytes* a, const tt_bytes* b, tt_bytes* merged) {
  if (a == nullptr || b == nullptr || merged == nullptr) return TT_INVALID;
  return guarded([&] {
    PartSet set = PartSet::read(view(a));
    set.merge(PartSet::read(view(b)));
    return give(set.write(), merged);
  });
}

int tt_write_trace(const tt_bytes* parts, const char* path, const char* first_lines,
                   uint32_t* incomplete) {
  if (parts == nullptr || path == nullptr) return TT_INVALID;
  return guarded([&] {
    std::vector<std::uint32_t> ranks;
    const std::vector<std::string> lines = lines_of(first_lines == nullptr ? "" : first_lines);
    for (const std::string& line : lines) {
      if (!RecordedShape::error_of(line).empty()) return int{TT_INVALID};
    }
    const std::string trace = trace_of(PartSet::read(view(parts)), lines, ranks);
    if (incomplete != nullptr) *incomplete = static_cast<std::uint32_t>(ranks.size());
    return write_file(path, trace);
  });
}

}  // extern "C"
