#include "timeline/time_window.hpp"

#include <type_traits>

namespace tisim {

TimeWindow::Rank& TimeWindow::of(std::int32_t rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (place >= ranks_.size()) ranks_.resize(place + place / 2 + 1);
  return ranks_[place];
}

void TimeWindow::begin(const OpenAction& action) {
  Rank& rank = of(action.start.rank);
  const double time = action.start.time;
  if (action.start.level == 0) {
    rank.waiting.clear();
    rank.fate = time > end_ ? Fate::hidden : time >= begin_ ? Fate::shown : Fate::unknown;
  } else if (rank.fate == Fate::unknown && time >= begin_) {
    show(rank);
  }
  take(rank, Begin{action});
}

void TimeWindow::end(const OpenAction& action) {
  Rank& rank = of(action.start.rank);
  if (rank.fate == Fate::unknown && action.end > begin_) show(rank);
  take(rank, End{action});
  if (action.start.level > 0) return;
  rank.fate = Fate::hidden;
  rank.waiting.clear();
}

void TimeWindow::sent(const SentRecord& record, const OpenAction* action) {
  if (action != nullptr) take(of(record.source), Sent{record, *action});
}

void TimeWindow::received(const MessageRecord& message, const OpenAction* action) {
  if (action != nullptr) take(of(message.destination), Received{message, *action});
}

void TimeWindow::row(const StateRow& row) {
  Rank& rank = of(row.rank);
  if (rank.fate == Fate::unknown && row.end > begin_) show(rank);
  take(rank, row);
}

void TimeWindow::take(Rank& rank, const Event& event) {
  if (rank.fate == Fate::shown) pass(event);
  if (rank.fate == Fate::unknown) rank.waiting.push_back(event);
}

void TimeWindow::show(Rank& rank) {
  rank.fate = Fate::shown;
  for (const Event& event : rank.waiting) pass(event);
  rank.waiting.clear();
}

void TimeWindow::pass(const Event& event) {
  std::visit(
      [this](const auto& logged) {
        using What = std::decay_t<decltype(logged)>;
        if constexpr (std::is_same_v<What, Begin>) {
          listener_->begin(logged.action);
        } else if constexpr (std::is_same_v<What, End>) {
          listener_->end(logged.action);
        } else if constexpr (std::is_same_v<What, Sent>) {
          sent_.insert(logged.record.message);
          listener_->sent(logged.record, &logged.action);
        } else if constexpr (std::is_same_v<What, Received>) {
          if (sent_.erase(logged.message.number) > 0)
            listener_->received(logged.message, &logged.action);
        } else {
          states_->row(logged);
        }
      },
      event);
}

}  // namespace tisim
