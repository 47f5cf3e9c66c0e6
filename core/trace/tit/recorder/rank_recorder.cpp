#include "trace/tit/recorder/rank_recorder.hpp"

#include <algorithm>
#include <utility>

#include "trace/tit/codec/bytes.hpp"

namespace tisim::tit {

namespace {

constexpr std::size_t kMinCallSlots = 32;

std::uint64_t hash_of_call(std::uint32_t shape, std::uint64_t columns, const std::int64_t* numbers,
                           std::uint32_t count) {
  std::uint64_t hash = (shape + 1) * 0x9e3779b97f4a7c15u + columns;
  for (std::uint32_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(numbers[i])) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  hash *= 0xc4ceb9fe1a85ec53u;
  return hash ^ (hash >> 29);
}

}  // namespace

bool DistinctCalls::equal(const Entry& entry, std::uint32_t shape, std::uint64_t columns,
                          const std::int64_t* numbers, std::uint32_t count) const {
  return entry.shape == shape && entry.columns == columns && entry.count == count &&
         std::equal(numbers, numbers + count, numbers_.data() + entry.first);
}

std::uint32_t DistinctCalls::number_of(std::uint32_t shape, std::uint64_t columns,
                                       const std::int64_t* numbers, std::uint32_t count) {
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_of_call(shape, columns, numbers, count);
  std::size_t at = hash & (slots_.size() - 1);
  for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    const Entry& entry = entries_[slots_[at] - 1];
    if (entry.hash == hash && equal(entry, shape, columns, numbers, count)) return slots_[at] - 1;
  }
  entries_.push_back({shape, count, columns, hash, numbers_.size()});
  numbers_.insert(numbers_.end(), numbers, numbers + count);
  slots_[at] = size();
  return size() - 1;
}

void DistinctCalls::grow() {
  slots_.assign(std::max(kMinCallSlots, 2 * slots_.size()), 0);
  for (std::uint32_t call = 0; call < entries_.size(); ++call) {
    std::size_t at = entries_[call].hash & (slots_.size() - 1);
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = call + 1;
  }
}

void DistinctCalls::clear() {
  entries_.clear();
  numbers_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
}

namespace {

constexpr std::size_t kMaxTextBytes = 32U << 20;
constexpr std::size_t kBytesPerText = 64;  // table overhead, in addition to its characters
// A ticket is the index of a value in its stream with the attribute's number in the low bits.
constexpr unsigned kTicketBits = 8;

}  // namespace

std::int64_t AttributeRecorder::declare(const Attribute& attribute) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].name != attribute.name) continue;
    return streams_[i].kind == attribute.kind ? static_cast<std::int64_t>(i) : kRefused;
  }
  if (streams_.size() == kMaxAttributes) return kRefused;
  Bytes payload;
  payload.text(attribute.name);
  payload.byte(static_cast<std::uint8_t>(attribute.kind));
  log_.append(RecordKind::attribute, payload.data);
  streams_.push_back({attribute.name, attribute.kind, attribute.is_fixed(), 0, {}});
  return static_cast<std::int64_t>(streams_.size()) - 1;
}

std::int64_t AttributeRecorder::text(const std::string& text) {
  const auto known = texts_.find(text);
  if (known != texts_.end()) return known->second;
  const std::size_t bytes = text.size() + kBytesPerText;
  if (text_bytes_ + bytes > kMaxTextBytes) return kRefused;
  text_bytes_ += bytes;
  log_.append(RecordKind::text, text);
  return texts_.emplace(text, static_cast<std::uint32_t>(texts_.size())).first->second;
}

AttributeRecorder::Next& AttributeRecorder::next_of(std::uint32_t attribute) {
  const auto at =
      std::lower_bound(next_.begin(), next_.end(), attribute,
                       [](const Next& a, std::uint32_t number) { return a.attribute < number; });
  if (at != next_.end() && at->attribute == attribute) return *at;
  return *next_.insert(at, {attribute, false, 0});
}

void AttributeRecorder::set(std::uint32_t attribute, std::int64_t value) {
  next_of(attribute) = {attribute, true, value};
}

std::int64_t AttributeRecorder::set_later(std::uint32_t attribute) {
  next_of(attribute) = {attribute, false, 0};
  const Stream& stream = streams_[attribute];
  return static_cast<std::int64_t>((stream.first + stream.pending.size()) << kTicketBits) |
         attribute;
}

bool AttributeRecorder::set_ticket(std::int64_t ticket, std::int64_t value) {
  const auto attribute = static_cast<std::uint32_t>(ticket) & ((1U << kTicketBits) - 1);
  if (ticket < 0 || attribute >= streams_.size() || streams_[attribute].is_fixed) return false;
  Stream& stream = streams_[attribute];
  const std::uint64_t number = static_cast<std::uint64_t>(ticket) >> kTicketBits;
  if (number < stream.first) return true;  // already written as missing
  const std::uint64_t place = number - stream.first;
  if (place > stream.pending.size()) return false;
  if (place == stream.pending.size()) {  // its call has not been made yet
    const auto waits = std::find_if(next_.begin(), next_.end(), [attribute](const Next& next) {
      return next.attribute == attribute;
    });
    if (waits == next_.end()) return false;
    *waits = {attribute, true, value};
    return true;
  }
  PendingValue& pending = stream.pending[static_cast<std::size_t>(place)];
  if (pending.is_known) return false;
  pending = {true, attribute_code(stream.kind, value, rank_)};
  write_known(attribute);
  return true;
}

void AttributeRecorder::take_next(std::vector<std::uint32_t>& fixed,
                                  std::vector<std::uint32_t>& streamed,
                                  std::vector<std::int64_t>& numbers) {
  fixed.clear();
  streamed.clear();
  for (const Next& next : next_) {
    if (streams_[next.attribute].is_fixed) {
      fixed.push_back(next.attribute);
      numbers.push_back(next.value);
    } else {
      streamed.push_back(next.attribute);
      put(next);
    }
  }
  next_.clear();
}

void AttributeRecorder::put(const Next& next) {
  Stream& stream = streams_[next.attribute];
  const std::uint64_t code = next.is_known ? attribute_code(stream.kind, next.value, rank_) : 0;
  if (stream.pending.size() == kMaxWaiting) stream.pending.front().is_known = true;
  stream.pending.push_back({next.is_known, code});
  write_known(next.attribute);
}

void AttributeRecorder::write_known(std::uint32_t attribute) {
  Stream& stream = streams_[attribute];
  for (; !stream.pending.empty() && stream.pending.front().is_known; stream.pending.pop_front()) {
    values_.varint(attribute);
    values_.varint(stream.pending.front().code);
    ++stream.first;
    if (values_.data.size() >= full_) write();
  }
}

void AttributeRecorder::write() {
  if (values_.data.empty()) return;
  log_.append(RecordKind::attribute_values, values_.data);
  values_.data.clear();
}

void AttributeRecorder::end() {
  for (std::uint32_t attribute = 0; attribute < streams_.size(); ++attribute) {
    for (PendingValue& pending : streams_[attribute].pending) pending.is_known = true;
    write_known(attribute);
  }
  write();
}

std::size_t AttributeRecorder::memory() const {
  std::size_t bytes = text_bytes_ + values_.data.capacity();
  for (const Stream& stream : streams_) bytes += stream.pending.size() * sizeof(PendingValue);
  return bytes;
}

namespace {

constexpr std::size_t kBytesPerItem = 48;         // of a grammar in memory, with its index
constexpr std::size_t kPartForValues = 16;        // of the memory; values are copied when written
constexpr std::uint64_t kCallsPerRepetition = 8;  // average uses of a repeated call
// A half-full segment ends if the hash of the last calls has this many leading zeros.
constexpr unsigned kBoundaryBits = 7;

std::uint64_t hash_of_bytes(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15u;
}

}  // namespace

RankRecorder::RankRecorder(std::uint32_t rank, std::uint32_t ranks, std::size_t memory,
                           std::string path)
    : log_(std::move(path)),
      attributes_(log_, rank, std::max(memory, kMinMemory) / kPartForValues) {
  memory = std::max(memory, kMinMemory);
  full_ = memory / 4;
  most_values_ = memory / kPartForValues;
  most_known_ = memory / 16 / sizeof(Known);
  many_distinct_ = memory >> 10;
  Bytes head;
  head.varint(rank);
  head.varint(ranks);
  log_.append(RecordKind::head, head.data);
  shape(RecordedShape::of(kRecordedComputeText, 0));
}

std::uint32_t RankRecorder::shape(const RecordedShape& shape) {
  declared_.push_back({shape, add_shape(shape), {}});
  return static_cast<std::uint32_t>(declared_.size()) - 1;
}

std::uint32_t RankRecorder::add_shape(const RecordedShape& shape) {
  ShapeState state{};
  state.holes = static_cast<std::uint32_t>(shape.holes());
  state.numbers = static_cast<std::uint32_t>(shape.numbers());
  for (std::size_t i = 0; i < shape.holes() && i < kMaxColumnNumbers; ++i) {
    if (shape.is_volume[i]) state.volumes |= std::uint64_t{1} << i;
  }
  shapes_.push_back(state);
  Bytes payload;
  shape.write(payload);
  log_.append(RecordKind::shape, payload.data);
  return static_cast<std::uint32_t>(shapes_.size()) - 1;
}

void RankRecorder::make_with_attributes(std::uint32_t line, const std::int64_t* numbers) {
  numbers_.assign(numbers, numbers + holes(line));
  attributes_.take_next(fixed_, streamed_, numbers_);
  std::vector<Declared::Variant>& variants = declared_[line].variants;
  auto variant =
      std::find_if(variants.begin(), variants.end(), [&](const Declared::Variant& other) {
        return other.fixed == fixed_ && other.streamed == streamed_;
      });
  if (variant == variants.end()) {
    const std::uint32_t made = add_shape(declared_[line].line.with(fixed_, streamed_));
    variant = variants.insert(variant, {fixed_, streamed_, made});
  }
  make_shape(variant->shape, numbers_.data());
}

void RankRecorder::make_shape(std::uint32_t shape, const std::int64_t* numbers) {
  const std::uint32_t number = number_of(shape, numbers);
  encoder_.add(number);
  ++calls_made_;
  recent_ = (recent_ << 1) + calls_.entry(number).hash;
  const std::size_t now = load();
  if (now > full_ || (now > full_ / 2 && recent_ >> (64 - kBoundaryBits) == 0)) end_segment();
  if (values_.data.size() >= most_values_) write_values();
}

// Bytes, independent of allocation, so that equal segments end at equal places.
std::size_t RankRecorder::load() const { return encoder_.items() * kBytesPerItem + calls_.used(); }

std::uint32_t RankRecorder::number_of(std::uint32_t shape, const std::int64_t* numbers) {
  ShapeState& state = shapes_[shape];
  ++state.made;
  const std::uint32_t before = calls_.size();
  std::uint32_t number = 0;
  if (state.columns == 0) {
    number = calls_.number_of(shape, 0, numbers, state.numbers);
  } else {
    reduced_.assign(numbers, numbers + state.numbers);
    for (std::uint32_t hole = 0; hole < state.holes && hole < kMaxColumnNumbers; ++hole) {
      if (!is_in_column(state.columns, hole)) continue;
      const std::int64_t value = std::exchange(reduced_[hole], 0);
      const bool is_volume = (state.volumes >> hole & 1) != 0;
      values_.varint(is_volume ? static_cast<std::uint64_t>(value) : zigzag(value));
    }
    number = calls_.number_of(shape, state.columns, reduced_.data(), state.numbers);
  }
  if (calls_.size() == before) return number;
  if (++state.distinct % many_distinct_ == 0 && state.distinct * kCallsPerRepetition > state.made) {
    choose_column(shape);
  }
  return number;
}

// Separates the hole with the most distinct numbers from the calls of this shape.
void RankRecorder::choose_column(std::uint32_t shape) {
  ShapeState& state = shapes_[shape];
  std::vector<std::int64_t> numbers;
  std::size_t most = 1;
  std::uint64_t chosen = 0;
  for (std::uint32_t hole = 0; hole < state.holes && hole < kMaxColumnNumbers; ++hole) {
    numbers.clear();
    for (std::uint32_t call = 0; call < calls_.size(); ++call) {
      const DistinctCalls::Entry& entry = calls_.entry(call);
      if (entry.shape == shape && entry.columns == state.columns) {
        numbers.push_back(calls_.numbers(call)[hole]);
      }
    }
    std::sort(numbers.begin(), numbers.end());
    const auto distinct =
        static_cast<std::size_t>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
    if (distinct <= most) continue;
    most = distinct;
    chosen = std::uint64_t{1} << hole;
  }
  state.columns |= chosen;
  state.made = state.distinct = 0;
}

std::string RankRecorder::encode_segment(Grammar grammar) const {
  grammar.limit_depth(kMaxGrammarDepth / 2);
  Bytes payload;
  payload.varint(calls_.size());
  for (std::uint32_t call = 0; call < calls_.size(); ++call) {
    const DistinctCalls::Entry& entry = calls_.entry(call);
    payload.varint(entry.shape);
    payload.varint(entry.columns);
    for (std::uint32_t i = 0; i < entry.count; ++i) {
      if (!is_in_column(entry.columns, i)) payload.zigzag(calls_.numbers(call)[i]);
    }
  }
  grammar.write(payload);
  return std::move(payload.data);
}

void RankRecorder::end_segment() {
  if (encoder_.length() == 0) return;
  // Values first: a log cut between the two has more values than calls, which is harmless.
  write_values();
  const std::string payload = encode_segment(encoder_.take());
  calls_.clear();
  for (ShapeState& state : shapes_) state.made = state.distinct = 0;
  const Known made{{hash_of_bytes(payload, 0xcbf29ce484222325u), hash_of_bytes(payload, 1)},
                   segments_};
  const auto known = std::find_if(known_.begin(), known_.end(), [&made](const Known& other) {
    return other.hash[0] == made.hash[0] && other.hash[1] == made.hash[1];
  });
  if (known != known_.end()) {
    Bytes number;
    number.varint(known->number);
    log_.append(RecordKind::again, number.data);
  } else {
    if (known_.size() == most_known_) known_.clear();
    known_.push_back(made);
    ++segments_;
    log_.append(RecordKind::segment, payload);
  }
  flushed_calls_ = calls_made_;
}

void RankRecorder::write_values() {
  attributes_.write();
  if (values_.data.empty()) return;
  log_.append(RecordKind::values, values_.data);
  values_.data.clear();
}

void RankRecorder::flush() {
  if (!log_.error().empty() || flushed_calls_ == calls_made_) return;
  write_values();
  log_.append(RecordKind::snapshot, encode_segment(encoder_.snapshot()));
  flushed_calls_ = calls_made_;
}

void RankRecorder::end() {
  end_segment();
  attributes_.end();
  log_.append(RecordKind::end, {});
}

}  // namespace tisim::tit
