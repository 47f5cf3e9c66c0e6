#include "trace/tit/recorder/attribute_recorder.hpp"

#include <algorithm>

#include "trace/tit/codec/bytes.hpp"

namespace tisim {
namespace tit {

namespace {

constexpr std::size_t kMostTextBytes = 32U << 20;
constexpr std::size_t kBytesPerText = 64;  // in the table, beside its characters
// A ticket is the number of a value in its stream and, in its low bits, that of its attribute.
constexpr unsigned kTicketBits = 8;

}  // namespace

std::int64_t AttributeRecorder::declare(const Attribute& attribute) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].name != attribute.name) continue;
    return streams_[i].kind == attribute.kind ? static_cast<std::int64_t>(i) : kRefused;
  }
  if (streams_.size() == kMostAttributes) return kRefused;
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
  if (text_bytes_ + bytes > kMostTextBytes) return kRefused;
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
  return static_cast<std::int64_t>((stream.first + stream.waiting.size()) << kTicketBits) |
         attribute;
}

bool AttributeRecorder::tell(std::int64_t ticket, std::int64_t value) {
  const auto attribute = static_cast<std::uint32_t>(ticket) & ((1U << kTicketBits) - 1);
  if (ticket < 0 || attribute >= streams_.size() || streams_[attribute].is_fixed) return false;
  Stream& stream = streams_[attribute];
  const std::uint64_t number = static_cast<std::uint64_t>(ticket) >> kTicketBits;
  if (number < stream.first) return true;  // it was given up
  const std::uint64_t place = number - stream.first;
  if (place > stream.waiting.size()) return false;
  if (place == stream.waiting.size()) {  // its call is not made yet
    const auto waits = std::find_if(next_.begin(), next_.end(), [attribute](const Next& next) {
      return next.attribute == attribute;
    });
    if (waits == next_.end()) return false;
    *waits = {attribute, true, value};
    return true;
  }
  Waiting& waiting = stream.waiting[static_cast<std::size_t>(place)];
  if (waiting.is_known) return false;
  waiting = {true, attribute_code(stream.kind, value, rank_)};
  pass_on(attribute);
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
  if (stream.waiting.size() == kMostWaiting) stream.waiting.front().is_known = true;
  stream.waiting.push_back({next.is_known, code});
  pass_on(next.attribute);
}

void AttributeRecorder::pass_on(std::uint32_t attribute) {
  Stream& stream = streams_[attribute];
  for (; !stream.waiting.empty() && stream.waiting.front().is_known; stream.waiting.pop_front()) {
    values_.add(attribute, stream.waiting.front().code);
    ++stream.first;
    if (values_.size() >= most_values_) write();
  }
}

void AttributeRecorder::write() {
  if (values_.empty()) return;
  Bytes block;
  values_.write(block);
  log_.append(RecordKind::attribute_values, block.data);
}

void AttributeRecorder::end() {
  for (std::uint32_t attribute = 0; attribute < streams_.size(); ++attribute) {
    for (Waiting& waiting : streams_[attribute].waiting) waiting.is_known = true;
    pass_on(attribute);
  }
  write();
}

std::size_t AttributeRecorder::memory() const {
  std::size_t bytes = text_bytes_ + values_.memory();
  for (const Stream& stream : streams_) bytes += stream.waiting.size() * sizeof(Waiting);
  return bytes;
}

}  // namespace tit
}  // namespace tisim
