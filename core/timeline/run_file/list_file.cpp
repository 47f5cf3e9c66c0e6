#include "timeline/run_file/list_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tisim {

namespace {

constexpr std::size_t kAligned = 8;
constexpr std::size_t kReference = 4;

}  // namespace

// Pads with zeros until the size modulo `to` is `rest`.
void FlatBuffer::align(std::size_t to, std::size_t rest) {
  while (bytes_.size() % to != rest) bytes_.push_back(0);
}

void FlatBuffer::append(std::uint64_t value, std::size_t size) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + size);
  std::memcpy(bytes_.data() + at, &value, size);  // little-endian, like the machines tisim runs on
}

// Makes a reference point to the end of the data written so far.
void FlatBuffer::refer(std::size_t from) {
  const auto distance = static_cast<std::uint32_t>(bytes_.size() - from);
  std::memcpy(bytes_.data() + from, &distance, sizeof distance);
}

std::vector<std::size_t> FlatBuffer::table(std::size_t referred_at,
                                           std::initializer_list<Field> fields) {
  // The offset of each field by number, before the table; 0 for missing ones.
  std::size_t numbers = 0;
  std::size_t size = kReference;
  for (const Field& field : fields) {
    numbers = std::max<std::size_t>(numbers, field.number + std::size_t{1});
    size += field.size;
  }
  std::vector<std::uint16_t> places(2 + numbers);
  places[0] = static_cast<std::uint16_t>(places.size() * sizeof places[0]);
  places[1] = static_cast<std::uint16_t>(size);
  auto offset = static_cast<std::uint16_t>(kReference);
  for (const Field& field : fields) {
    places[2 + field.number] = offset;
    offset = static_cast<std::uint16_t>(offset + field.size);
  }
  align(2, 0);
  const std::size_t before = bytes_.size();
  for (const std::uint16_t entry : places) append(entry, sizeof entry);
  align(kAligned, kAligned - kReference);  // its first field may have eight bytes
  refer(referred_at);
  append(bytes_.size() - before, kReference);
  std::vector<std::size_t> positions;
  for (const Field& field : fields) {
    if (field.size == kReference) positions.push_back(bytes_.size());
    append(field.value, field.size);
  }
  return positions;
}

void FlatBuffer::text(std::size_t referred_at, std::string_view text) {
  align(kReference, 0);
  refer(referred_at);
  append(text.size(), kReference);
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  bytes_.push_back(0);
}

void FlatBuffer::structs(std::size_t referred_at, std::size_t count, std::string_view bytes) {
  align(kAligned, kAligned - kReference);
  refer(referred_at);
  append(count, kReference);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::vector<std::size_t> FlatBuffer::references(std::size_t referred_at, std::size_t count) {
  align(kReference, 0);
  refer(referred_at);
  append(count, kReference);
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < count; ++i) {
    positions.push_back(bytes_.size());
    append(0, kReference);
  }
  return positions;
}

std::string_view FlatBuffer::finish() {
  align(kAligned, 0);
  return {bytes_.data(), bytes_.size()};
}

namespace {

constexpr std::string_view kArrowMagic = "ARROW1";
constexpr std::size_t kColumnAlignment = 8;
constexpr std::uint32_t kContinues = 0xffffffffU;
// Numbers from Arrow's schemas: Schema.fbs, Message.fbs, File.fbs.
constexpr std::uint64_t kVersion5 = 4;
constexpr std::uint64_t kOfSchema = 1;
constexpr std::uint64_t kOfRecordBatch = 3;
constexpr std::uint64_t kInteger = 2;
constexpr std::uint64_t kReal = 3;
constexpr std::uint64_t kList = 12;
constexpr std::uint64_t kStruct = 13;

// A column's name and type; returns the references to its type and to its child columns.
std::pair<std::size_t, std::size_t> write_column(FlatBuffer& to, std::size_t referred_at,
                                                 std::string_view name, std::uint64_t type) {
  const auto places = to.table(
      referred_at, {FlatBuffer::reference(0), FlatBuffer::reference(3), FlatBuffer::reference(5),
                    FlatBuffer::Field{2, 1, type}, FlatBuffer::Field{1, 1, 1}});
  to.text(places[0], name);
  return {places[1], places[2]};
}

void write_number(FlatBuffer& to, std::size_t referred_at, const ListColumn& column) {
  const auto [type, parts] =
      write_column(to, referred_at, column.name, column.is_real ? kReal : kInteger);
  if (column.is_real) {
    to.table(type, {FlatBuffer::Field{0, 2, column.size == 8 ? 2U : 1U}});
  } else {
    to.table(type, {FlatBuffer::Field{0, 4, 8 * column.size}});
  }
  to.references(parts, 0);
}

struct ArrowNode {
  std::int64_t length, missing = 0;
};

struct ArrowBuffer {
  std::int64_t at, size;
};

}  // namespace

ListFile::ListFile(std::vector<ListColumn> columns, const char* lists,
                   std::vector<ListColumn> fields)
    : columns_(std::move(columns)), lists_(lists), fields_(std::move(fields)) {
  text_ << kArrowMagic;
  pad();
  FlatBuffer metadata;
  const auto message = metadata.table(
      FlatBuffer::kRoot, {FlatBuffer::Field{3, 8, 0}, FlatBuffer::reference(2),
                          FlatBuffer::Field{0, 2, kVersion5}, FlatBuffer::Field{1, 1, kOfSchema}});
  write_schema(metadata, message[0]);
  write_message(metadata.finish());
}

void ListFile::clear() {
  before_ += text_.size();
  text_.clear();
}

void ListFile::pad() {
  while (offset() % kColumnAlignment != 0) text_ << '\0';
}

void ListFile::write_message(std::string_view metadata) {
  text_.raw(kContinues);
  text_.raw(static_cast<std::int32_t>(metadata.size()));
  text_ << metadata;
}

void ListFile::write_schema(FlatBuffer& to, std::size_t referred_at) const {
  const auto schema = to.table(referred_at, {FlatBuffer::reference(1), FlatBuffer::Field{0, 2, 0}});
  const auto columns = to.references(schema[0], columns_.size() + 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) write_number(to, columns[i], columns_[i]);
  const auto [list_type, list_parts] = write_column(to, columns.back(), lists_, kList);
  to.table(list_type, {});
  const auto item = to.references(list_parts, 1);
  const auto [item_type, item_parts] = write_column(to, item[0], "item", kStruct);
  to.table(item_type, {});
  const auto fields = to.references(item_parts, fields_.size());
  for (std::size_t i = 0; i < fields_.size(); ++i) write_number(to, fields[i], fields_[i]);
}

ListFile::Offsets ListFile::write(std::span<const std::string_view> columns,
                                  std::span<const std::int32_t> offsets,
                                  std::span<const std::string_view> fields) {
  const auto rows = static_cast<std::int64_t>(offsets.size()) - 1;
  const std::int64_t elements = offsets.back();
  std::vector<std::string_view> parts;
  std::vector<ArrowNode> nodes;
  std::vector<ArrowBuffer> buffers;
  std::int64_t body = 0;
  // Every column has a bitmap of missing values, which is empty: no value is missing.
  const auto add_node = [&](std::int64_t length) {
    nodes.push_back({length});
    buffers.push_back({body, 0});
  };
  const auto add = [&](std::int64_t length, std::string_view data) {
    add_node(length);
    buffers.push_back({body, static_cast<std::int64_t>(data.size())});
    body += static_cast<std::int64_t>((data.size() + kColumnAlignment - 1) / kColumnAlignment *
                                      kColumnAlignment);
    parts.push_back(data);
  };
  for (const std::string_view column : columns) add(rows, column);
  add(rows, bytes_of(offsets));
  add_node(elements);
  for (const std::string_view field : fields) add(elements, field);

  FlatBuffer metadata;
  const auto message = metadata.table(
      FlatBuffer::kRoot,
      {FlatBuffer::Field{3, 8, static_cast<std::uint64_t>(body)}, FlatBuffer::reference(2),
       FlatBuffer::Field{0, 2, kVersion5}, FlatBuffer::Field{1, 1, kOfRecordBatch}});
  const auto batch =
      metadata.table(message[0], {FlatBuffer::Field{0, 8, static_cast<std::uint64_t>(rows)},
                                  FlatBuffer::reference(1), FlatBuffer::reference(2)});
  metadata.structs(batch[0], nodes.size(), bytes_of(nodes));
  metadata.structs(batch[1], buffers.size(), bytes_of(buffers));

  const std::size_t begin = offset();
  write_message(metadata.finish());
  blocks_.push_back(
      {static_cast<std::int64_t>(begin), static_cast<std::int32_t>(offset() - begin), 0, body});
  Offsets result;
  for (const std::string_view part : parts) {
    result.push_back(offset());
    text_ << part;
    pad();
  }
  return result;
}

void ListFile::finish() {
  write_message({});  // the end of the messages
  FlatBuffer footer;
  const auto places = footer.table(FlatBuffer::kRoot,
                                   {FlatBuffer::reference(1), FlatBuffer::reference(2),
                                    FlatBuffer::reference(3), FlatBuffer::Field{0, 2, kVersion5}});
  write_schema(footer, places[0]);
  footer.structs(places[1], 0, {});
  footer.structs(places[2], blocks_.size(), bytes_of(blocks_));
  const std::string_view bytes = footer.finish();
  text_ << bytes;
  text_.raw(static_cast<std::int32_t>(bytes.size()));
  text_ << kArrowMagic;
}

}  // namespace tisim
