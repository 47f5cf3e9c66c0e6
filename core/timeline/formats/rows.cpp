#include "timeline/formats/rows.hpp"

#include "timeline/playback.hpp"

namespace tisim {

ActionRow action_row(const OpenAction& action) {
  const ActionStart& start = action.start;
  ActionRow row{};
  row.start = start.time;
  row.end = action.end;
  const bool has_volume = action.kind() == Kind::compute || action.kind() == Kind::sleep;
  row.volume = has_volume ? start.amount : 0.0;
  row.bytes = action.bytes;
  row.rank = start.rank;
  row.peer = action.peer;
  row.line = start.line;
  row.comm = start.comm;
  row.kind = name_of(start);
  return row;
}

void ActionRows::end(const OpenAction& action) {
  if (action.start.level == 0) text_.raw(action_row(action));
}

void MessageRows::received(const MessageRecord& message, const OpenAction* /*action*/) {
  text_.raw(message);
}

void MessageRows::lost(const MessageRecord& message) { text_.raw(message); }

void StateRows::row(const StateRow& row) { rows_.raw(row); }

}  // namespace tisim
