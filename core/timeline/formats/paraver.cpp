#include "timeline/formats/paraver.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "timeline/playback.hpp"

namespace tisim {

namespace {

constexpr std::int32_t kPointToPoint = 50000001;
constexpr std::int32_t kCollective = 50000002;
constexpr std::int32_t kOther = 50000003;
constexpr std::int32_t kOneSided = 50000004;

// Extrae's states.
constexpr std::int32_t kIdle = 0, kRunning = 1, kReceive = 3, kSend = 4, kSynchronization = 5;
constexpr std::int32_t kTest = 6, kWait = 8, kImmediateSend = 10, kImmediateReceive = 11;
constexpr std::int32_t kGroup = 13, kOthers = 15, kSendReceive = 16;

const std::map<std::string_view, ParaverCall>& calls_by_word() {
  static const std::map<std::string_view, ParaverCall> calls = {
      {"send", {"MPI_Send", kPointToPoint, 1, kSend}},
      {"recv", {"MPI_Recv", kPointToPoint, 2, kReceive}},
      {"isend", {"MPI_Isend", kPointToPoint, 3, kImmediateSend}},
      {"irecv", {"MPI_Irecv", kPointToPoint, 4, kImmediateReceive}},
      {"wait", {"MPI_Wait", kPointToPoint, 5, kWait}},
      {"waitall", {"MPI_Waitall", kPointToPoint, 6, kWait}},
      {"bcast", {"MPI_Bcast", kCollective, 7, kGroup}},
      {"barrier", {"MPI_Barrier", kCollective, 8, kSynchronization}},
      {"reduce", {"MPI_Reduce", kCollective, 9, kGroup}},
      {"allreduce", {"MPI_Allreduce", kCollective, 10, kGroup}},
      {"alltoall", {"MPI_Alltoall", kCollective, 11, kGroup}},
      {"alltoallv", {"MPI_Alltoallv", kCollective, 12, kGroup}},
      {"gather", {"MPI_Gather", kCollective, 13, kGroup}},
      {"gatherv", {"MPI_Gatherv", kCollective, 14, kGroup}},
      {"scatter", {"MPI_Scatter", kCollective, 15, kGroup}},
      {"scatterv", {"MPI_Scatterv", kCollective, 16, kGroup}},
      {"allgather", {"MPI_Allgather", kCollective, 17, kGroup}},
      {"allgatherv", {"MPI_Allgatherv", kCollective, 18, kGroup}},
      {"comm_dup", {"MPI_Comm_dup", kOther, 22, kGroup}},
      {"comm_idup", {"MPI_Comm_dup", kOther, 22, kGroup}},
      {"comm_group", {"MPI_Comm_create", kOther, 21, kGroup}},
      {"comm_split", {"MPI_Comm_split", kOther, 23, kGroup}},
      {"comm_free", {"MPI_Comm_free", kOther, 25, kGroup}},
      {"scan", {"MPI_Scan", kCollective, 30, kGroup}},
      {"exscan", {"MPI_Scan", kCollective, 30, kGroup}},
      {"bsend", {"MPI_Bsend", kPointToPoint, 33, kSend}},
      {"ssend", {"MPI_Ssend", kPointToPoint, 34, kSend}},
      {"ibsend", {"MPI_Ibsend", kPointToPoint, 36, kImmediateSend}},
      {"issend", {"MPI_Issend", kPointToPoint, 37, kImmediateSend}},
      {"test", {"MPI_Test", kPointToPoint, 39, kTest}},
      {"sendrecv", {"MPI_Sendrecv", kPointToPoint, 41, kSendReceive}},
      {"waitany", {"MPI_Waitany", kPointToPoint, 59, kWait}},
      {"waitsome", {"MPI_Waitsome", kPointToPoint, 60, kWait}},
      {"probe", {"MPI_Probe", kPointToPoint, 61, kTest}},
      {"iprobe", {"MPI_Iprobe", kPointToPoint, 62, kTest}},
      {"reducescatter", {"MPI_Reduce_scatter", kCollective, 80, kGroup}},
      {"bsend_init", {"MPI_Bsend_init", kPointToPoint, 112, kOthers}},
      {"recv_init", {"MPI_Recv_init", kPointToPoint, 116, kOthers}},
      {"send_init", {"MPI_Send_init", kPointToPoint, 117, kOthers}},
      {"ssend_init", {"MPI_Ssend_init", kPointToPoint, 122, kOthers}},
      {"start", {"MPI_Start", kPointToPoint, 123, kOthers}},
      {"startall", {"MPI_Startall", kPointToPoint, 124, kOthers}},
      {"testall", {"MPI_Testall", kPointToPoint, 125, kTest}},
      {"testany", {"MPI_Testany", kPointToPoint, 126, kTest}},
      {"testsome", {"MPI_Testsome", kPointToPoint, 128, kTest}},
      {"ireduce", {"MPI_Ireduce", kCollective, 154, kGroup}},
      {"iallreduce", {"MPI_Iallreduce", kCollective, 155, kGroup}},
      {"ibarrier", {"MPI_Ibarrier", kCollective, 156, kSynchronization}},
      {"ibcast", {"MPI_Ibcast", kCollective, 157, kGroup}},
      {"ialltoall", {"MPI_Ialltoall", kCollective, 158, kGroup}},
      {"ialltoallv", {"MPI_Ialltoallv", kCollective, 159, kGroup}},
      {"iallgather", {"MPI_Iallgather", kCollective, 160, kGroup}},
      {"iallgatherv", {"MPI_Iallgatherv", kCollective, 161, kGroup}},
      {"igather", {"MPI_Igather", kCollective, 162, kGroup}},
      {"igatherv", {"MPI_Igatherv", kCollective, 163, kGroup}},
      {"iscatter", {"MPI_Iscatter", kCollective, 164, kGroup}},
      {"iscatterv", {"MPI_Iscatterv", kCollective, 165, kGroup}},
      {"ireducescatter", {"MPI_Ireduce_scatter", kCollective, 166, kGroup}},
      {"iscan", {"MPI_Iscan", kCollective, 167, kGroup}},
      {"neighbor_allgather", {"MPI_Neighbor_allgather", kCollective, 174, kGroup}},
      {"ineighbor_allgather", {"MPI_Ineighbor_allgather", kCollective, 175, kGroup}},
      {"neighbor_allgatherv", {"MPI_Neighbor_allgatherv", kCollective, 176, kGroup}},
      {"ineighbor_allgatherv", {"MPI_Ineighbor_allgatherv", kCollective, 177, kGroup}},
      {"neighbor_alltoall", {"MPI_Neighbor_alltoall", kCollective, 178, kGroup}},
      {"ineighbor_alltoall", {"MPI_Ineighbor_alltoall", kCollective, 179, kGroup}},
      {"neighbor_alltoallv", {"MPI_Neighbor_alltoallv", kCollective, 180, kGroup}},
      {"ineighbor_alltoallv", {"MPI_Ineighbor_alltoallv", kCollective, 181, kGroup}},
      {"win_create", {"MPI_Win_create", kOneSided, 63, kOthers}},
      {"win_free", {"MPI_Win_free", kOneSided, 64, kOthers}},
      {"put", {"MPI_Put", kOneSided, 65, kOthers}},
      {"get", {"MPI_Get", kOneSided, 66, kOthers}},
      {"accumulate", {"MPI_Accumulate", kOneSided, 67, kOthers}},
      {"win_fence", {"MPI_Win_fence", kOneSided, 68, kOthers}},
      {"win_start", {"MPI_Win_start", kOneSided, 69, kOthers}},
      {"win_complete", {"MPI_Win_complete", kOneSided, 70, kOthers}},
      {"win_post", {"MPI_Win_post", kOneSided, 71, kOthers}},
      {"win_wait", {"MPI_Win_wait", kOneSided, 72, kOthers}},
      {"win_lock", {"MPI_Win_lock", kOneSided, 74, kOthers}},
      {"win_unlock", {"MPI_Win_unlock", kOneSided, 75, kOthers}},
      {"get_accumulate", {"MPI_Get_accumulate", kOneSided, 172, kOthers}},
      {"fetch_and_op", {"MPI_Fetch_and_op", kOneSided, 184, kOthers}},
      {"compare_and_swap", {"MPI_Compare_and_swap", kOneSided, 185, kOthers}},
      {"win_flush", {"MPI_Win_flush", kOneSided, 186, kOthers}},
      {"win_flush_all", {"MPI_Win_flush_all", kOneSided, 187, kOthers}},
      {"win_flush_local", {"MPI_Win_flush_local", kOneSided, 188, kOthers}},
      {"win_flush_local_all", {"MPI_Win_flush_local_all", kOneSided, 189, kOthers}},
  };
  return calls;
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

const std::vector<ParaverCall>& paraver_calls() {
  static const std::vector<ParaverCall> calls = [] {
    std::vector<ParaverCall> made;
    for (const std::string& word : kind_names()) {
      // Extrae has no number for iexscan, which is shown as the blocking exscan.
      auto call = calls_by_word().find(word);
      if (call == calls_by_word().end() && word.starts_with('i')) {
        call = calls_by_word().find(std::string_view(word).substr(1));
      }
      made.push_back(call == calls_by_word().end() ? ParaverCall{.name = {}, .state = kOthers}
                                                   : call->second);
    }
    return made;
  }();
  return calls;
}

ParaverWriter::ParaverWriter(std::span<const std::int32_t> cpus, std::size_t window)
    : window_(window) {
  for (std::size_t rank = 0; rank < cpus.size(); ++rank) {
    Text text;
    text << cpus[rank] << ":1:" << static_cast<std::int64_t>(rank + 1) << ":1:";
    locations_.emplace_back(text.view());
  }
}

// Only lines out of chronological order need sorting.
void ParaverWriter::end_line(std::int64_t time) {
  lines_text_ << '\n';
  if (time < newest_) {
    late_text_ << lines_text_.view().substr(begin_);
    lines_text_.shorten(begin_);
    return;
  }
  const Line line{time, static_cast<std::uint32_t>(begin_),
                  static_cast<std::uint32_t>(lines_text_.size() - begin_)};
  const bool in_order = in_order_.empty() || in_order_.back().time <= time;
  (in_order ? in_order_ : others_).push_back(line);
  begin_ = lines_text_.size();
}

void ParaverWriter::call(const ActionStart& start, double time, const ParaverCall& call,
                         std::int32_t value) {
  const std::int64_t when = nanoseconds(time);
  lines_text_ << "2:" << location(start.rank) << when << ':' << call.type << ':' << value;
  if (call.type == kCollective && value != 0) {
    lines_text_ << ':' << kParaverSendSize << ':' << start.bytes << ':' << kParaverReceiveSize
                << ':' << start.received << ':' << kParaverCommunicator << ':' << start.tag + 1;
    if (start.peer == start.rank) lines_text_ << ':' << kParaverRoot << ":1";
  }
  end_line(when);
}

void ParaverWriter::wait(std::int32_t rank, std::int64_t time, std::int32_t state,
                         std::int32_t cause) {
  lines_text_ << "2:" << location(rank) << time << ':' << kParaverWaitState << ':' << state << ':'
              << kParaverCause << ':' << cause;
  end_line(time);
}

void ParaverWriter::begin(const OpenAction& action) {
  if (action.start.level != 0) return;
  const ParaverCall& made = paraver_calls()[name_of(action.start)];
  if (!made.name.empty()) call(action.start, action.start.time, made, made.value);
}

void ParaverWriter::end(const OpenAction& action) {
  if (action.start.level != 0) return;
  const ParaverCall& made = paraver_calls()[name_of(action.start)];
  if (!made.name.empty()) call(action.start, action.end, made, 0);
}

void ParaverWriter::row(const StateRow& row) {
  const auto state = static_cast<State>(row.state);
  std::int32_t number = paraver_calls()[row.kind].state;
  if (state == State::compute) number = kRunning;
  if (state == State::sleep) number = kIdle;
  const std::int64_t start = nanoseconds(row.start);
  const std::int64_t end = nanoseconds(row.end);
  if (start == end) return;
  lines_text_ << "1:" << location(row.rank) << start << ':' << end << ':' << number;
  end_line(start);
  if (row.cause < 0) return;
  wait(row.rank, start, row.state, row.cause + 1);
  wait(row.rank, end, 0, 0);
}

// Logical times are those of the calls, physical times those of the transfer.
void ParaverWriter::received(const MessageRecord& message, const OpenAction* action) {
  if (message.collective != 0 || action == nullptr) return;
  const std::int64_t sent = nanoseconds(message.sent);
  lines_text_ << "3:" << location(message.source) << sent << ':' << nanoseconds(message.started)
              << ':' << location(message.destination) << nanoseconds(message.received) << ':'
              << nanoseconds(message.arrived) << ':' << message.bytes << ':' << message.tag;
  end_line(sent);
}

// Writes the older half of the window once it is full.
std::string_view ParaverWriter::written(bool last) {
  const std::size_t count = in_order_.size() + others_.size();
  if (!last && count < window_) return text_.view();
  // Lines with equal times keep their order.
  const auto before = [](const Line& a, const Line& b) {
    return a.time < b.time || (a.time == b.time && a.begin < b.begin);
  };
  std::sort(others_.begin(), others_.end(), before);
  std::vector<Line> lines(count);
  std::merge(in_order_.begin(), in_order_.end(), others_.begin(), others_.end(), lines.begin(),
             before);
  const std::size_t out = last ? count : count / 2;
  for (std::size_t i = 0; i < out; ++i) text_ << text_of(lines[i]);
  if (out > 0) newest_ = std::max(newest_, lines[out - 1].time);
  Text kept;
  in_order_.clear();
  others_.clear();
  for (std::size_t i = out; i < count; ++i) {
    in_order_.push_back({lines[i].time, static_cast<std::uint32_t>(kept.size()), lines[i].size});
    kept << text_of(lines[i]);
  }
  lines_text_ = std::move(kept);
  begin_ = lines_text_.size();
  return text_.view();
}

}  // namespace tisim
