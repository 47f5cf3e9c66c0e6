#include "trace/tit/file/tables.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "trace/tit/file/volume_code.hpp"

namespace tisim::tit {

namespace {

// A reader needs about 20 bytes per rank, and a file of a few hundred bytes may have many ranks.
constexpr std::uint64_t kMaxRanksOfFile = 67'108'864;
constexpr unsigned kModeBits = 3;
constexpr std::uint64_t kModeMask = (1U << kModeBits) - 1;

bool has_value(Mode mode) { return mode != Mode::by_rank && mode != Mode::column; }

void write_shape(const Shape& shape, Bytes& out) {
  out.text(shape.text);
  out.varint(shape.rank_holes);
}

Shape read_shape(ByteReader& in) {
  Shape shape;
  shape.text = std::string(in.text());
  shape.rank_holes = in.varint();
  const std::string error = error_of_shape(shape.text);
  if (!error.empty()) throw FormatError(error);
  shape.holes = holes_of(shape.text);
  return shape;
}

void write_signature(const Signature& signature, Bytes& out) {
  out.varint(signature.shape);
  for (const Argument& argument : signature.arguments) argument.write(out);
}

Mode checked_mode(std::uint64_t number) {
  if (number > static_cast<std::uint64_t>(Mode::column)) {
    throw FormatError("an argument has an unknown encoding");
  }
  return static_cast<Mode>(number);
}

Signature read_signature(ByteReader& in, const std::vector<Shape>& shapes) {
  Signature signature;
  signature.shape = static_cast<std::uint32_t>(in.varint());
  if (signature.shape >= shapes.size()) throw FormatError("a call has no shape");
  const Shape& shape = shapes[signature.shape];
  signature.arguments.reserve(shape.holes.size());
  for (const Hole& hole : shape.holes) {
    const Argument argument = Argument::read(in);
    const bool is_relative = argument.mode == Mode::relative || argument.mode == Mode::exclusive;
    const bool is_none = argument.mode == Mode::constant &&
                         !is_volume_code(static_cast<std::uint64_t>(argument.value));
    if (hole.mark == kVolumeMark && (is_relative || is_none)) {
      throw FormatError("a volume is invalid");
    }
    signature.arguments.push_back(argument);
  }
  return signature;
}

void write_class(const RankClass& made, Bytes& out) {
  out.varint(2 * made.signatures.size() + (made.has_volumes ? 1 : 0));
  // They mostly continue those of the previous class.
  std::int64_t next = 0;
  for (const std::uint32_t signature : made.signatures) {
    out.zigzag(static_cast<std::int64_t>(signature) - next);
    next = static_cast<std::int64_t>(signature) + 1;
  }
  made.grammar.write(out);
  for (const RankVector& vector : made.vectors) vector.write(out);
}

void check_volumes(const RankVector& vector, const std::vector<std::int32_t>& ranks) {
  for (const std::int64_t code : vector.all(ranks)) {
    if (!is_volume_code(static_cast<std::uint64_t>(code))) throw FormatError("a volume is invalid");
  }
}

RankClass read_class(ByteReader& in, const TraceTables& tables,
                     const std::vector<std::int32_t>& ranks) {
  RankClass made;
  const std::uint64_t head = in.varint();
  made.has_volumes = (head & 1) != 0;
  if (head / 2 > in.left()) throw FormatError("a class has more calls than bytes");
  std::int64_t next = 0;
  std::vector<bool> vectors;  // whether each one is of volumes
  made.signatures.reserve(static_cast<std::size_t>(head / 2));
  for (std::uint64_t i = 0; i < head / 2; ++i) {
    next += in.zigzag();
    if (next < 0 || next >= static_cast<std::int64_t>(tables.signatures.size())) {
      throw FormatError("a class has a missing call");
    }
    const Signature& signature = tables.signatures[static_cast<std::size_t>(next)];
    const std::vector<Hole>& holes = tables.shapes[signature.shape].holes;
    for (std::size_t hole = 0; hole < holes.size(); ++hole) {
      if (signature.arguments[hole].mode != Mode::by_rank) continue;
      vectors.push_back(holes[hole].mark == kVolumeMark);
    }
    made.signatures.push_back(static_cast<std::uint32_t>(next++));
  }
  made.grammar = Grammar::read(in, static_cast<std::uint32_t>(made.signatures.size()));
  for (const bool is_volume : vectors) {
    made.vectors.push_back(RankVector::read(in, ranks.size(), made.vectors));
    if (is_volume) check_volumes(made.vectors.back(), ranks);
  }
  return made;
}

}  // namespace

void Argument::write(Bytes& out) const {
  const auto number = static_cast<std::uint64_t>(mode);
  if (!has_value(mode)) {
    out.varint(number);
    return;
  }
  const std::uint64_t code = zigzag(value);
  // Large ones have their own form: their bits do not fit next to the mode.
  if (code >> (64 - kModeBits) == 0) {
    out.varint((code << kModeBits) | number);
  } else {
    out.varint((number << kModeBits) | kModeMask);
    out.varint(code);
  }
}

Argument Argument::read(ByteReader& in) {
  const std::uint64_t code = in.varint();
  if ((code & kModeMask) == kModeMask) {
    const Mode mode = checked_mode(code >> kModeBits);
    return {mode, unzigzag(in.varint())};
  }
  return {checked_mode(code & kModeMask), unzigzag(code >> kModeBits)};
}

void TraceTables::write_trace(Bytes& out) const {
  out.varint(ranks);
  out.byte(static_cast<std::uint8_t>((layout.legacy ? 1 : 0) | (layout.merged ? 2 : 0)));
  out.text(layout.precision);
  out.text(layout.index_name);
  out.text(layout.index_text);
  out.varint(layout.names.size());
  layout.name_of.write(out);
  for (const NameShape& name : layout.names) {
    out.text(name.text);
    for (const RankVector& numbers : name.numbers) numbers.write(out);
  }
  layout.has_last_newline.write(out);
  out.varint(shapes.size());
  for (const Shape& shape : shapes) write_shape(shape, out);
  out.varint(signatures.size());
  for (const Signature& signature : signatures) write_signature(signature, out);
  out.varint(classes.size());
  class_of.write(out);
  for (const RankClass& made : classes) write_class(made, out);
}

void TraceTables::read_trace(ByteReader& in) {
  ranks = static_cast<std::uint32_t>(in.at_most(kMaxRanksOfFile, "the number of ranks"));
  if (ranks == 0) throw FormatError("it has no rank");
  const std::uint8_t flags = in.byte();
  layout.legacy = (flags & 1) != 0;
  layout.merged = (flags & 2) != 0;
  layout.precision = std::string(in.text());
  layout.index_name = std::string(in.text());
  layout.index_text = std::string(in.text());
  const std::size_t names = in.count("the number of names");
  layout.name_of = RankVector::read(in, ranks);
  const std::vector<std::uint32_t> named =
      sizes_of_classes(layout.name_of, ranks, static_cast<std::uint32_t>(names));
  for (std::size_t i = 0; i < names; ++i) {
    NameShape name;
    name.text = std::string(in.text());
    const std::string error = error_of_shape(name.text);
    if (!error.empty()) throw FormatError(error);
    for (const Hole& hole : holes_of(name.text)) {
      if (hole.mark == kVolumeMark) throw FormatError("a name has a volume");
      name.numbers.push_back(RankVector::read(in, named[i]));
    }
    layout.names.push_back(std::move(name));
  }
  layout.has_last_newline = RankVector::read(in, ranks);
  const std::size_t shapes_count = in.count("the number of shapes");
  for (std::size_t i = 0; i < shapes_count; ++i) shapes.push_back(read_shape(in));
  if (shapes.size() < kFirstShape || shapes[kComputeShape].holes.size() != 1 ||
      shapes[kComputeShape].holes[0].mark != kVolumeMark ||
      shapes[kSilentShape].text != std::string(1, static_cast<char>(kSilentMark))) {
    throw FormatError("its first shapes are wrong");
  }
  const std::size_t signatures_count = in.count("the number of calls");
  signatures.reserve(signatures_count);
  for (std::size_t i = 0; i < signatures_count; ++i) {
    signatures.push_back(read_signature(in, shapes));
  }
  const std::size_t classes_count = in.count("the number of classes");
  class_of = RankVector::read(in, ranks);
  const RankPositions positions =
      positions_of(class_of, ranks, static_cast<std::uint32_t>(classes_count));
  for (std::size_t i = 0; i < classes_count; ++i) {
    classes.push_back(read_class(in, *this, positions.ranks[i]));
  }
  if (!in.at_end()) throw FormatError("its tables are longer than declared");
  number_kinds();
}

void TraceTables::write_columns(Bytes& out) const {
  out.varint(volumes.size());
  std::uint64_t before = 0;
  for (const std::uint64_t volume : volumes) {
    out.varint(volume - before);
    before = volume;
  }
  out.varint(contexts.size());
  std::uint32_t call = 0;
  for (const Context& context : contexts) {
    out.varint(context.before - call);
    out.varint(context.at);
    call = context.before;
  }
  write_coded(out);
}

void TraceTables::read_columns(ByteReader& in) {
  const std::size_t count = in.count("the number of volumes");
  std::uint64_t volume = 0;
  volumes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    volume += in.varint();
    if (!is_volume_code(volume) || (i > 0 && volume <= volumes.back())) {
      throw FormatError("a volume is invalid");
    }
    volumes.push_back(volume);
  }
  // Number of arguments in columns, by kind.
  std::vector<std::uint32_t> arguments(kinds_count, 0);
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    std::uint32_t number = 0;
    for (const Argument& argument : signatures[i].arguments) {
      if (argument.mode == Mode::column) ++number;
    }
    arguments[kinds[i]] = number;
  }
  const std::size_t contexts_count = in.count("the number of contexts", 2);
  Context context;
  for (std::size_t i = 0; i < contexts_count; ++i) {
    context.before += static_cast<std::uint32_t>(in.at_most(kinds_count, "a context"));
    context.at = static_cast<std::uint32_t>(in.varint());
    if (context.before > kinds_count || context.at >= kinds_count) {
      throw FormatError("a context has no call");
    }
    contexts.push_back(context);
    context.first_site += 1 + arguments[context.at];
    if (context.first_site > in.left()) throw FormatError("it has more sites than bytes");
  }
  read_coded(in, context.first_site, ranks);
  if (!in.at_end()) throw FormatError("its columns are longer than declared");
}

void CodedColumns::write_coded(Bytes& out) const {
  for (const Site& site : sites) out.varint(site.varies ? 0 : 1 + site.value);
  models.write(out);
  out.varint(columns.size());
  std::uint32_t rank = 0;
  for (const RankColumn& column : columns) {
    out.varint(column.rank - rank);
    rank = column.rank;
    out.varint(column.volumes);
    out.varint(column.blocks.size());
    for (const Block& block : column.blocks) {
      out.varint(block.values);
      out.varint(block.bytes);
      out.fixed32(block.checksum);
    }
  }
}

void CodedColumns::read_coded(ByteReader& in, std::size_t sites_count, std::uint32_t ranks) {
  std::uint64_t varying = 0;
  if (sites_count > in.left()) throw FormatError("it has more sites than bytes");
  sites.reserve(sites_count);
  for (std::size_t i = 0; i < sites_count; ++i) {
    Site site;
    const std::uint64_t code = in.varint();
    site.varies = code == 0;
    site.value = site.varies ? varying++ : code - 1;
    sites.push_back(site);
  }
  models = ModelSet::read(in, static_cast<std::size_t>(varying));
  const std::size_t columns_count = in.count("the number of columns", 3);
  std::uint64_t rank = 0;
  columns.reserve(columns_count);
  for (std::size_t i = 0; i < columns_count; ++i) {
    RankColumn column;
    const std::uint64_t step = in.varint();
    if (i > 0 && step == 0) throw FormatError("a rank has two columns");
    rank += step;
    if (step >= ranks || rank >= ranks) throw FormatError("a column has no rank");
    column.rank = static_cast<std::uint32_t>(rank);
    column.volumes = in.varint();
    const std::size_t blocks = in.count("the number of blocks", 6);
    column.blocks.reserve(blocks);
    for (std::size_t k = 0; k < blocks; ++k) {
      Block block;
      block.values = in.varint();
      block.bytes = in.varint();
      block.checksum = in.fixed32();
      column.blocks.push_back(block);
    }
    columns.push_back(std::move(column));
  }
}

namespace {

// Calls `take(rank, class)` for each rank. A file of a few bytes may have tens of millions of
// ranks, so nothing is stored per rank.
template <class Take>
void for_each_class(const RankVector& class_of, std::uint32_t ranks, std::uint32_t classes,
                    const Take& take) {
  class_of.for_each(ranks, [&](std::uint32_t rank, std::int64_t number) {
    if (number < 0 || number >= static_cast<std::int64_t>(classes)) {
      throw FormatError("a rank has no class");
    }
    take(rank, static_cast<std::uint32_t>(number));
  });
}

}  // namespace

std::vector<std::uint32_t> sizes_of_classes(const RankVector& class_of, std::uint32_t ranks,
                                            std::uint32_t classes) {
  std::vector<std::uint32_t> sizes(classes, 0);
  for_each_class(class_of, ranks, classes,
                 [&](std::uint32_t, std::uint32_t number) { ++sizes[number]; });
  return sizes;
}

RankPositions positions_of(const RankVector& class_of, std::uint32_t ranks, std::uint32_t classes) {
  const std::vector<std::uint32_t> sizes = sizes_of_classes(class_of, ranks, classes);
  RankPositions positions;
  positions.class_of.reserve(ranks);
  positions.position.reserve(ranks);
  positions.ranks.resize(classes);
  for (std::uint32_t number = 0; number < classes; ++number) {
    positions.ranks[number].reserve(sizes[number]);
  }
  for_each_class(class_of, ranks, classes, [&](std::uint32_t rank, std::uint32_t number) {
    positions.class_of.push_back(number);
    positions.position.push_back(static_cast<std::uint32_t>(positions.ranks[number].size()));
    positions.ranks[number].push_back(static_cast<std::int32_t>(rank));
  });
  return positions;
}

// Assigns calls to kinds.

namespace {

// A number that distinguishes the kind of a call, and its hole.
struct KindPart {
  std::size_t hole = 0;
  std::int64_t value = 0;
  bool is_column = false;  // any number

  int compare(const KindPart& other) const {
    if (hole != other.hole) return hole < other.hole ? -1 : 1;
    if (is_column != other.is_column) return is_column ? -1 : 1;
    if (value != other.value) return value < other.value ? -1 : 1;
    return 0;
  }
};

}  // namespace

void TraceTables::number_kinds() {
  // The parts of a call's kind in addition to its shape, one by one; returns false at the end.
  const auto next = [this](std::uint32_t call, std::size_t& at, KindPart& part) {
    const Signature& signature = signatures[call];
    const Shape& shape = shapes[signature.shape];
    for (; at < signature.arguments.size(); ++at) {
      const Argument& argument = signature.arguments[at];
      const bool is_column = argument.mode == Mode::column;
      const bool is_said = argument.mode == Mode::constant && at < kMaxKindArguments &&
                           shape.holes[at].mark == kNumberMark && !shape.is_rank(at);
      if (!is_column && !is_said) continue;
      part = {at++, is_column ? std::int64_t{-1} : argument.value, is_column};
      return true;
    }
    return false;
  };
  const auto compare = [&](std::uint32_t first, std::uint32_t second) {
    if (signatures[first].shape != signatures[second].shape) {
      return signatures[first].shape < signatures[second].shape ? -1 : 1;
    }
    KindPart part;
    KindPart second_part;
    for (std::size_t at = 0, second_at = 0;;) {
      const bool has_part = next(first, at, part);
      if (has_part != next(second, second_at, second_part)) return has_part ? 1 : -1;
      if (!has_part) return 0;
      const int order = part.compare(second_part);
      if (order != 0) return order;
    }
  };
  std::vector<std::uint32_t> sorted(signatures.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  // Stable for equal ones: the first of them comes first.
  std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t first, std::uint32_t second) {
    const int order = compare(first, second);
    return order != 0 ? order < 0 : first < second;
  });
  kinds.assign(signatures.size(), 0);
  for (std::size_t i = 0, first = 0; i < sorted.size(); ++i) {
    if (compare(sorted[first], sorted[i]) != 0) first = i;
    kinds[sorted[i]] = sorted[first];
  }
  // So far the number of the first call of the kind.
  kinds_count = 0;
  for (std::uint32_t call = 0; call < kinds.size(); ++call) {
    kinds[call] = kinds[call] == call ? kinds_count++ : kinds[kinds[call]];
  }
}

VolumeSites::VolumeSites(const TraceTables& tables)
    : sites_(2), is_listed_(!tables.volumes.empty()) {
  amounts_.push_back(0);
  for (const std::uint64_t volume : tables.volumes) amounts_.push_back(volume_value(volume));
  known_ = amounts_.size();
  // Bins that end after the last volume end before the next power of two.
  const std::uint64_t most = is_listed_ ? 2 * known_ : std::uint64_t{1} << 31;
  std::uint64_t largest = known_ - 1;
  for (const Site& site : tables.sites) {
    VolumeSite made;
    std::uint64_t its_largest = site.value;
    if (site.varies) {
      const std::uint32_t number = tables.models.model_of[static_cast<std::size_t>(site.value)];
      const SiteModel& model = tables.models.models[number];
      its_largest = model.largest();
      const DecodingTable table = model.table();
      if (table.large_bins != nullptr) its_largest = most;
      made.limits = table.limits;
      made.choices = table.choices;
      made.shift = table.shift;
    } else {
      made.value = static_cast<std::uint32_t>(site.value);
    }
    const bool is_quick = its_largest < most;
    if (is_quick && is_listed_) largest = std::max(largest, its_largest);
    number_of_.push_back(is_quick ? static_cast<std::uint32_t>(sites_.size()) : kSpecial);
    sites_.push_back(made);
  }
  amounts_.resize(static_cast<std::size_t>(largest) + 1, 0.0);
}

}  // namespace tisim::tit
