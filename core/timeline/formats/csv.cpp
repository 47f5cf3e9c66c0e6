#include "timeline/formats/csv.hpp"

#include "timeline/playback.hpp"

namespace tisim {

ActionsCsv::ActionsCsv() { text_ << "rank,kind,start,end,bytes,peer,communicator,line\n"; }

void ActionsCsv::end(const OpenAction& action) {
  const ActionStart& start = action.start;
  if (start.level != 0) return;
  text_ << start.rank << ',' << kind_names()[name_of(start)] << ',';
  text_.seconds<12>(start.time) << ',';
  text_.seconds<12>(action.end) << ',' << action.bytes << ',' << action.peer << ','
                                << std::int32_t{start.comm} << ',' << start.line << '\n';
}

TimedCsv::TimedCsv() { text_ << "rank,action,peer,volume,start,duration\n"; }

void TimedCsv::end(const OpenAction& action) {
  const ActionStart& start = action.start;
  if (start.level != 0) return;
  text_ << start.rank << ',' << kind_names()[name_of(start)] << ',' << action.peer << ',';
  const Kind kind = action.kind();
  if (kind == Kind::compute || kind == Kind::sleep) {
    text_ << start.amount;
  } else {
    text_ << action.bytes;
  }
  text_ << ',';
  text_.seconds<12>(start.time) << ',';
  text_.seconds<12>(action.end - start.time) << '\n';
}

MessagesCsv::MessagesCsv() {
  text_ << "source,destination,bytes,tag,collective,posted,received,started,arrived\n";
}

void MessagesCsv::received(const MessageRecord& message, const OpenAction* /*action*/) {
  write(message);
}

void MessagesCsv::write(const MessageRecord& m) {
  text_ << m.source << ',' << m.destination << ',' << m.bytes << ',' << m.tag << ','
        << std::int32_t{m.collective};
  for (const double time : {m.sent, m.received, m.started, m.arrived}) {
    text_ << ',';
    if (time != kNoTime) text_.seconds<12>(time);
  }
  text_ << '\n';
}

}  // namespace tisim
