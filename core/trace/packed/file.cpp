#include "trace/packed/file.hpp"

#include <limits>

#include "trace/error.hpp"
#include "trace/packed/byte_codec.hpp"
#include "trace/packed/format.hpp"
#include "trace/tit/codec/crc32c.hpp"

namespace tisim {

using namespace packed;

bool PackedFile::recognises(const TraceFile& file) {
  char head[kMagic.size()];
  return file.read(0, head, sizeof head) == sizeof head &&
         std::string_view(head, sizeof head) == kMagic;
}

PackedFile::PackedFile(TraceFile file) : file_(std::move(file)), packed_start_(kHeaderSize) {
  file_.descriptor = open_file(file_);
  read_header();
  read_index();
}

void PackedFile::damaged(std::string_view what) const {
  throw TraceError(file_.name, 0,
                   "is damaged: " + std::string(what) + "; get it again, or pack the trace again");
}

void PackedFile::read_header() {
  char bytes[kHeaderSize];
  const std::size_t got = file_.read(0, bytes, sizeof bytes);
  ByteCursor cursor({bytes, got});
  if (cursor.bytes(kMagic.size()) != kMagic) {
    throw TraceError(file_.name, 0, "is no packed trace");
  }
  const auto version = cursor.fixed<std::uint32_t>();
  index_checksum_ = cursor.fixed<std::uint32_t>();
  file_size_ = cursor.fixed<std::uint64_t>();
  index_offset_ = cursor.fixed<std::uint64_t>();
  cursor.fixed<std::uint32_t>();
  const auto checksum = cursor.fixed<std::uint32_t>();
  if (!cursor.failed() && version > kVersion) {
    throw TraceError(file_.name, 0,
                     "is a packed trace of version " + std::to_string(version) +
                         ", and this tisim reads versions 1 and 2; get a newer tisim");
  }
  if (cursor.failed() || tit::crc32c(bytes, kHeaderSize - sizeof checksum) != checksum) {
    damaged("its header is not what was written");
  }
  const std::uint64_t size = file_.size();
  if (size != file_size_ || index_offset_ < kHeaderSize || index_offset_ > size) {
    damaged("it has " + std::to_string(size) + " bytes of " + std::to_string(file_size_));
  }
}

void PackedFile::read_index() {
  std::string bytes(file_size_ - index_offset_, '\0');
  bytes.resize(file_.read(index_offset_, bytes.data(), bytes.size()));
  if (tit::crc32c(bytes.data(), bytes.size()) != index_checksum_) {
    damaged("its index is not what was written");
  }
  ByteCursor cursor(bytes);
  layout_.merged = cursor.byte() == 1;
  layout_.dialect = cursor.byte() == static_cast<std::uint8_t>(Dialect::legacy) ? Dialect::legacy
                                                                                : Dialect::modern;
  slots_limit_ = cursor.varint();
  const auto read_texts = [&cursor](std::vector<std::string>& texts, std::size_t most) {
    const std::uint64_t count = cursor.varint();
    if (count > most) return false;
    for (std::uint64_t i = 0; i < count && !cursor.failed(); ++i) texts.emplace_back(cursor.text());
    return true;
  };
  if (!read_texts(words_, kMostWords) || !read_texts(dictionary_, kMostTemplates) ||
      slots_limit_ == 0 || slots_limit_ > kMostSlots) {
    damaged("its index makes no sense");
  }
  layout_.index_name = cursor.text();
  layout_.index_text = cursor.text();
  read_streams(cursor);
  if (cursor.failed() || !cursor.done()) damaged("its index makes no sense");
}

void PackedFile::read_streams(ByteCursor& cursor) {
  const std::uint64_t count = cursor.varint();
  if (count == 0 || count > cursor.left()) damaged("its index makes no sense");
  streams_.reserve(count);
  by_rank_.assign(count, -1);
  std::uint64_t offset = packed_start_;
  std::int64_t rank = -1;
  std::string name;
  for (std::uint64_t i = 0; i < count; ++i) {
    rank += unzigzag(cursor.varint()) + 1;
    if (rank < 0 || rank >= static_cast<std::int64_t>(count) ||
        by_rank_[static_cast<std::size_t>(rank)] >= 0) {
      damaged("its ranks make no sense");
    }
    by_rank_[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(i);
    Stream stream;
    stream.rank = static_cast<std::int32_t>(rank);
    stream.actions = cursor.varint();
    stream.size = cursor.varint();
    stream.offset = offset;
    stream.newline_at_end = (cursor.byte() & kNoLastNewline) == 0;
    const std::uint64_t front = cursor.varint();
    const std::uint64_t back = cursor.varint();
    const std::string_view middle = cursor.text();
    if (stream.size > index_offset_ - offset || front > name.size() || back > name.size() - front) {
      damaged("its streams make no sense");
    }
    offset += stream.size;
    name = name.substr(0, front).append(middle).append(name.substr(name.size() - back));
    stream.name_offset = names_.size();
    stream.name_size = static_cast<std::uint32_t>(name.size());
    names_ += name;
    streams_.push_back(stream);
  }
}

std::string PackedFile::display_name(const Stream& stream) const {
  return file_.name + "/" + std::string(name(stream));
}

std::uint64_t PackedFile::actions() const {
  std::uint64_t sum = 0;
  for (const Stream& stream : streams_) sum += stream.actions;
  return sum;
}

}  // namespace tisim
