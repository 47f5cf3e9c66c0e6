#include "timeline/run_file/list_file.hpp"

#include <algorithm>
#include <utility>

namespace tisim {

namespace {

constexpr std::string_view kArrowMagic = "ARROW1";
constexpr std::size_t kColumnAlignment = 8;
constexpr std::uint32_t kContinues = 0xffffffffU;
// As the schemas of Arrow number them: Schema.fbs, Message.fbs, File.fbs.
constexpr std::uint64_t kVersion5 = 4;
constexpr std::uint64_t kOfSchema = 1;
constexpr std::uint64_t kOfRecordBatch = 3;
constexpr std::uint64_t kInteger = 2;
constexpr std::uint64_t kReal = 3;
constexpr std::uint64_t kList = 12;
constexpr std::uint64_t kStruct = 13;

// A column's name and type; the references to its type and to the columns that it consists of.
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

template <class Struct>
std::string_view bytes_of_structs(const std::vector<Struct>& structs) {
  return {reinterpret_cast<const char*>(structs.data()), structs.size() * sizeof(Struct)};
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
  while (place() % kColumnAlignment != 0) text_ << '\0';
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

ListFile::Places ListFile::write(std::span<const std::string_view> columns,
                                 std::span<const std::int32_t> offsets,
                                 std::span<const std::string_view> fields) {
  const auto rows = static_cast<std::int64_t>(offsets.size()) - 1;
  const std::int64_t elements = offsets.back();
  std::vector<std::string_view> parts;
  std::vector<ArrowNode> nodes;
  std::vector<ArrowBuffer> buffers;
  std::int64_t body = 0;
  // Every column has a bitmap of what is missing, which is empty: nothing is.
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
  add(rows, {reinterpret_cast<const char*>(offsets.data()), offsets.size_bytes()});
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
  metadata.structs(batch[0], nodes.size(), bytes_of_structs(nodes));
  metadata.structs(batch[1], buffers.size(), bytes_of_structs(buffers));

  const std::size_t begin = place();
  write_message(metadata.finish());
  blocks_.push_back(
      {static_cast<std::int64_t>(begin), static_cast<std::int32_t>(place() - begin), 0, body});
  Places places;
  for (const std::string_view part : parts) {
    places.push_back(place());
    text_ << part;
    pad();
  }
  return places;
}

void ListFile::finish() {
  write_message({});  // the end of the messages
  FlatBuffer footer;
  const auto places = footer.table(FlatBuffer::kRoot,
                                   {FlatBuffer::reference(1), FlatBuffer::reference(2),
                                    FlatBuffer::reference(3), FlatBuffer::Field{0, 2, kVersion5}});
  write_schema(footer, places[0]);
  footer.structs(places[1], 0, {});
  footer.structs(places[2], blocks_.size(), bytes_of_structs(blocks_));
  const std::string_view bytes = footer.finish();
  text_ << bytes;
  text_.raw(static_cast<std::int32_t>(bytes.size()));
  text_ << kArrowMagic;
}

}  // namespace tisim
