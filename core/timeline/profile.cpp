#include "timeline/profile.hpp"

#include <algorithm>
#include <tuple>

#include "timeline/playback.hpp"

namespace tisim {

namespace {
std::uint64_t pair_key(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 |
         static_cast<std::uint32_t>(b);
}
std::int32_t first_of(std::uint64_t key) { return static_cast<std::int32_t>(key >> 32); }
std::int32_t second_of(std::uint64_t key) { return static_cast<std::int32_t>(key & 0xffffffffU); }
}  // namespace

Profile::Profile(std::int32_t ranks) : ranks_(static_cast<std::size_t>(ranks)) {
  for (auto& of_state : column_of_) of_state.fill(-1);
}

void Profile::row(const StateRow& row) {
  std::int16_t& place = column_of_[row.state][row.kind];
  if (place < 0) {
    place = static_cast<std::int16_t>(columns_.size());
    columns_.push_back({row.state, row.kind, std::vector<double>(ranks_)});
  }
  const double seconds = row.end - row.start;
  columns_[static_cast<std::size_t>(place)].seconds[static_cast<std::size_t>(row.rank)] += seconds;
  if (row.cause < 0) return;
  const auto kind = static_cast<std::uint16_t>(row.state << 8 | row.kind);
  WaitSum& sum = waits_[kind][pair_key(row.rank, row.cause)];
  sum.seconds += seconds;
  ++sum.count;
}

void Profile::end(const OpenAction& action) {
  if (action.start.level != 0) return;
  std::vector<std::int64_t>& counts = counts_[name_of(action.start)];
  if (counts.empty()) counts.resize(ranks_);
  ++counts[static_cast<std::size_t>(action.start.rank)];
}

void Profile::received(const MessageRecord& message, const OpenAction* /*action*/) {
  count(message);
}

void Profile::count(const MessageRecord& message) {
  TrafficSum& sum = traffic_[pair_key(message.source, message.destination)];
  sum.bytes += message.bytes;
  ++sum.messages;
  if (message.collective == 0) return;
  sum.collective_bytes += message.bytes;
  ++sum.collective_messages;
}

std::vector<Profile::WaitRow> Profile::waits() const {
  std::vector<WaitRow> rows;
  for (const auto& [kind, of_kind] : waits_) {
    const std::size_t first = rows.size();
    for (const auto& [pair, sum] : of_kind) {
      rows.push_back({sum.seconds, sum.count, first_of(pair), second_of(pair),
                      static_cast<std::uint8_t>(kind >> 8), static_cast<std::uint8_t>(kind & 255)});
    }
    std::sort(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
              [](const WaitRow& a, const WaitRow& b) {
                return std::tie(a.rank, a.cause) < std::tie(b.rank, b.cause);
              });
  }
  return rows;
}

std::vector<Profile::TrafficRow> Profile::traffic() const {
  std::vector<TrafficRow> rows;
  rows.reserve(traffic_.size());
  for (const auto& [pair, sum] : traffic_) {
    rows.push_back({sum.bytes, sum.messages, sum.collective_bytes, sum.collective_messages,
                    first_of(pair), second_of(pair)});
  }
  std::sort(rows.begin(), rows.end(), [](const TrafficRow& a, const TrafficRow& b) {
    return std::tie(a.source, a.destination) < std::tie(b.source, b.destination);
  });
  return rows;
}

}  // namespace tisim
