#include "timeline/run_file/parquet_file.hpp"

#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

namespace tisim {

namespace {

// Packs numbers of a fixed number of bits, the lowest bits first.
class BitPacker {
 public:
  explicit BitPacker(Text& to) : to_(to) {}
  void put(std::uint64_t value, unsigned bits) {
    waiting_ |= value << used_;
    used_ += bits;
    if (used_ < 64) return;
    to_.raw(waiting_);
    used_ -= 64;
    waiting_ = used_ > 0 ? value >> (bits - used_) : 0;
  }
  void flush() {
    for (; used_ > 0; used_ -= std::min(used_, 8U)) {
      to_ << static_cast<char>(waiting_ & 0xffU);
      waiting_ >>= 8;
    }
  }

 private:
  Text& to_;
  std::uint64_t waiting_ = 0;
  unsigned used_ = 0;  // number of bits in use
};

// Distinct numbers are packed in groups of this size; a shorter run of equal numbers is not worth a
// header.
constexpr std::size_t kPackedGroup = 8;

void write_packed(Text& to, std::span<const std::uint32_t> values, unsigned bits) {
  if (values.empty()) return;
  const std::size_t groups = (values.size() + kPackedGroup - 1) / kPackedGroup;
  to.varint(groups << 1 | 1U);
  BitPacker packer(to);
  for (const std::uint32_t value : values) packer.put(value, bits);
  for (std::size_t rest = values.size(); rest < groups * kPackedGroup; ++rest) packer.put(0, bits);
  packer.flush();
}

// Differences in a block, and miniblocks of a block.
constexpr std::size_t kDeltas = 128;
constexpr std::size_t kParts = 4;
constexpr std::size_t kOfPart = kDeltas / kParts;

template <class Value>
void write_all_deltas(Text& to, std::span<const Value> values) {
  using Signed = std::make_signed_t<Value>;
  const auto signed_number = [&to](Value value) {
    const auto wide = static_cast<std::int64_t>(static_cast<Signed>(value));
    to.varint(static_cast<std::uint64_t>(wide) << 1 ^ static_cast<std::uint64_t>(wide >> 63));
  };
  to.varint(kDeltas);
  to.varint(kParts);
  to.varint(values.size());
  signed_number(values.empty() ? 0 : values[0]);
  std::array<Value, kDeltas> deltas{};
  for (std::size_t at = 1; at < values.size(); at += kDeltas) {
    const std::size_t count = std::min(kDeltas, values.size() - at);
    for (std::size_t i = 0; i < count; ++i) {
      deltas[i] = static_cast<Value>(values[at + i] - values[at + i - 1]);
    }
    const Value least = *std::min_element(
        deltas.begin(), deltas.begin() + static_cast<std::ptrdiff_t>(count),
        [](Value a, Value b) { return static_cast<Signed>(a) < static_cast<Signed>(b); });
    signed_number(least);
    std::array<unsigned, kParts> widths{};
    for (std::size_t i = 0; i < kDeltas; ++i) {
      deltas[i] = i < count ? static_cast<Value>(deltas[i] - least) : 0;
      const auto width = static_cast<unsigned>(std::bit_width(deltas[i]));
      widths[i / kOfPart] = std::max(widths[i / kOfPart], width);
    }
    for (const unsigned width : widths) to << static_cast<char>(width);
    for (std::size_t part = 0; part < kParts && part * kOfPart < count; ++part) {
      if (widths[part] == 0) continue;
      BitPacker packer(to);
      for (std::size_t i = 0; i < kOfPart; ++i) {
        packer.put(deltas[part * kOfPart + i], widths[part]);
      }
      packer.flush();
    }
  }
}

}  // namespace

void write_hybrid(Text& to, std::span<const std::uint32_t> values, unsigned bits) {
  std::size_t packed = 0;  // values from here on are still to be packed
  for (std::size_t at = 0; at < values.size();) {
    std::size_t stop = at + 1;
    while (stop < values.size() && values[stop] == values[at]) ++stop;
    if (stop - at < kPackedGroup) {
      at = std::min(at + kPackedGroup, values.size());  // a whole group, unless it is the last
      continue;
    }
    write_packed(to, values.subspan(packed, at - packed), bits);
    to.varint((stop - at) << 1);
    for (unsigned byte = 0; byte < bits; byte += 8) {
      to << static_cast<char>(values[at] >> byte & 0xffU);
    }
    packed = at = stop;
  }
  write_packed(to, values.subspan(packed), bits);
}

void write_deltas(Text& to, std::span<const std::uint32_t> values) { write_all_deltas(to, values); }

void write_deltas(Text& to, std::span<const std::uint64_t> values) { write_all_deltas(to, values); }

namespace {

constexpr std::string_view kParquetMagic = "PAR1";
// A larger dictionary is hardly smaller than the values. For a block of 2^17 rows.
constexpr std::size_t kMaxDistinct = 1 << 15;
constexpr int kDataPage = 0;
constexpr int kDictionaryPage = 2;

template <class Number>
std::string_view bytes_of_one(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

}  // namespace

ParquetFile::ParquetFile(std::vector<ParquetColumn> columns) : columns_(std::move(columns)) {
  text_ << kParquetMagic;
  block_at_ = offset();
}

void ParquetFile::clear() {
  before_ += text_.size();
  text_.clear();
}

void ParquetFile::write_page(std::size_t values, Encoding encoding, bool is_dictionary) {
  const auto size = static_cast<std::int32_t>(page_.size());
  const auto count = static_cast<std::int32_t>(values);
  const auto code = static_cast<std::int32_t>(encoding);
  ThriftWriter header(text_);
  header.int32(1, is_dictionary ? kDictionaryPage : kDataPage).int32(2, size).int32(3, size);
  if (is_dictionary) {
    header.begin(7).int32(1, count).int32(2, code).boolean(3, false).end();
  } else {
    const auto levels = static_cast<std::int32_t>(Encoding::rle);
    header.begin(5).int32(1, count).int32(2, code).int32(3, levels).int32(4, levels).end();
  }
  header.end();
  text_ << page_.view();
  page_.clear();
}

void ParquetFile::end_chunk(std::size_t begin, std::size_t dictionary_size, Encoding encoding,
                            const Range* range) {
  const bool has_dictionary = dictionary_size > 0;
  chunks_.push_back({begin + dictionary_size, has_dictionary ? begin : 0, offset() - begin,
                     encoding, range == nullptr ? Range{} : *range, range != nullptr});
}

template <class Value>
void ParquetFile::add_repeating(std::span<const Value> values, Distinct<Value>& distinct) {
  const std::size_t begin = offset();
  std::size_t dictionary_size = 0;
  Encoding encoding = Encoding::dictionary;
  if (distinct.find(values, kMaxDistinct)) {
    page_ << bytes_of(distinct.values());
    write_page(distinct.values().size(), Encoding::plain, true);
    dictionary_size = offset() - begin;
    page_ << static_cast<char>(distinct.bits());
    write_hybrid(page_, distinct.indices(), distinct.bits());
  } else if (column().type == ParquetType::real) {
    encoding = Encoding::plain;
    page_ << bytes_of(values);
  } else {
    encoding = Encoding::delta;
    write_deltas(page_, values);
  }
  write_page(values.size(), encoding, false);
  end_chunk(begin, dictionary_size, encoding, nullptr);
}

void ParquetFile::add(std::span<const std::uint32_t> values) { add_repeating(values, distinct_); }

void ParquetFile::add(std::span<const std::uint64_t> values) {
  add_repeating(values, distinct_wide_);
}

void ParquetFile::add_ascending(std::span<const std::uint32_t> values) {
  const std::size_t begin = offset();
  write_deltas(page_, values);
  write_page(values.size(), Encoding::delta, false);
  end_chunk(begin, 0, Encoding::delta, nullptr);
}

void ParquetFile::add_booleans(std::span<const std::uint32_t> values) {
  const std::size_t begin = offset();
  for (std::size_t at = 0; at < values.size(); at += 8) {
    unsigned bits = 0;
    for (std::size_t i = at; i < std::min(at + 8, values.size()); ++i) {
      bits |= (values[i] != 0 ? 1U : 0U) << (i - at);
    }
    page_ << static_cast<char>(bits);
  }
  write_page(values.size(), Encoding::plain, false);
  end_chunk(begin, 0, Encoding::plain, nullptr);
}

void ParquetFile::add_reals(std::span<const double> values, std::span<const std::uint32_t> known) {
  const std::size_t begin = offset();
  std::span<const double> present = values;
  if (column().is_optional) {
    std::uint32_t size = 0;
    page_.raw(size);
    write_hybrid(page_, known, 1);
    size = static_cast<std::uint32_t>(page_.size() - sizeof size);
    page_.overwrite(0, bytes_of_one(size));
    values_.resize(values.size());
    std::size_t count = 0;
    for (std::size_t row = 0; row < values.size(); ++row) {
      values_[count] = values[row];
      count += known[row];
    }
    present = std::span<const double>(values_).first(count);
  }
  Range range;
  range.missing = values.size() - present.size();
  for (const double value : present) {
    range.least = std::min(range.least, value);
    range.most = std::max(range.most, value);
  }
  page_ << bytes_of(present);
  write_page(values.size(), Encoding::plain, false);
  end_chunk(begin, 0, Encoding::plain, &range);
}

void ParquetFile::end_block(std::size_t rows) {
  blocks_.push_back({rows, offset() - block_at_, std::exchange(chunks_, {})});
  block_at_ = offset();
  rows_ += rows;
}

void ParquetFile::finish() {
  const std::size_t begin = offset();
  write_footer();
  text_.raw(static_cast<std::uint32_t>(offset() - begin));
  text_ << kParquetMagic;
}

void ParquetFile::write_footer() {
  using Type = ThriftWriter::Type;
  ThriftWriter to(text_);
  to.int32(1, 2).list(2, Type::structure, columns_.size() + 1);
  to.begin().binary(4, "schema").int32(5, static_cast<std::int32_t>(columns_.size())).end();
  for (const ParquetColumn& column : columns_) {
    to.begin()
        .int32(1, static_cast<std::int32_t>(column.type))
        .int32(3, column.is_optional ? 1 : 0);
    to.binary(4, column.name);
    if (column.meaning != ParquetMeaning::plain)
      to.int32(6, static_cast<std::int32_t>(column.meaning));
    to.end();
  }
  to.int64(3, static_cast<std::int64_t>(rows_)).list(4, Type::structure, blocks_.size());
  for (const Block& block : blocks_) {
    to.begin().list(1, Type::structure, columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Chunk& chunk = block.chunks[i];
      const auto size = static_cast<std::int64_t>(chunk.size);
      const std::size_t first = chunk.dictionary_at > 0 ? chunk.dictionary_at : chunk.at;
      to.begin().int64(2, static_cast<std::int64_t>(first)).begin(3);
      to.int32(1, static_cast<std::int32_t>(columns_[i].type));
      to.list(2, Type::int32, 2).element(static_cast<std::int64_t>(Encoding::rle));
      to.element(static_cast<std::int64_t>(chunk.encoding));
      to.list(3, Type::binary, 1).element(std::string_view(columns_[i].name)).int32(4, 0);
      to.int64(5, static_cast<std::int64_t>(block.rows)).int64(6, size).int64(7, size);
      to.int64(9, static_cast<std::int64_t>(chunk.at));
      if (chunk.dictionary_at > 0) to.int64(11, static_cast<std::int64_t>(chunk.dictionary_at));
      if (chunk.has_range) {
        to.begin(12).int64(3, static_cast<std::int64_t>(chunk.range.missing));
        if (chunk.range.least <= chunk.range.most) {
          // Either zero may be among the values.
          const double least = chunk.range.least == 0.0 ? -0.0 : chunk.range.least;
          const double most = chunk.range.most == 0.0 ? 0.0 : chunk.range.most;
          to.binary(5, bytes_of_one(most)).binary(6, bytes_of_one(least));
        }
        to.end();
      }
      to.end().end();
    }
    to.int64(2, static_cast<std::int64_t>(block.size));
    to.int64(3, static_cast<std::int64_t>(block.rows)).end();
  }
  to.binary(6, "tisim").list(7, Type::structure, columns_.size());
  // Column orders: minima and maxima are in the order of the column's type.
  for (std::size_t i = 0; i < columns_.size(); ++i) to.begin().begin(1).end().end();
  to.end();
}

}  // namespace tisim
