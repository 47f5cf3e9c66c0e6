#include "trace/vocabulary/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tisim {

namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr Action nothing(std::string_view name) { return {.name = name}; }

constexpr Action send(std::string_view name, Kind kind) {
  return {.name = name,
          .form = Form::send,
          .kind = kind,
          .usage = "dst tag count [type]",
          .legacy_usage = "dst count [type]"};
}

constexpr Action receive(std::string_view name, Kind kind) {
  return {.name = name,
          .form = Form::receive,
          .kind = kind,
          .usage = "src tag count [type]",
          .legacy_usage = "src [count [type]]"};
}

constexpr Action probe(std::string_view name, Kind kind) {
  return {
      .name = name, .form = Form::probe, .kind = kind, .usage = "src tag", .legacy_usage = "src"};
}

constexpr Action request(std::string_view name, Form form, Kind kind) {
  return {.name = name,
          .form = form,
          .kind = kind,
          .usage = "src dst tag",
          .legacy_usage = form == Form::request ? "no arguments" : ""};
}

constexpr Action requests(std::string_view name, Kind kind) {
  return {.name = name, .form = Form::requests, .kind = kind, .usage = "[number of requests]"};
}

constexpr Action collective(std::string_view name, Operation operation, std::string_view usage) {
  return {.name = name,
          .form = Form::collective,
          .kind = name.front() == 'i' ? Kind::icollective : Kind::collective,
          .operation = operation,
          .usage = usage};
}

constexpr Action communicator(std::string_view name, Form form, Kind kind, Operation operation,
                              std::string_view usage) {
  return {.name = name, .form = form, .kind = kind, .operation = operation, .usage = usage};
}

constexpr std::string_view kCount = "count [root [type]]";
constexpr std::string_view kReduction = "count flops [type]";
constexpr std::string_view kRootedReduction = "count flops [root [type]]";
constexpr std::string_view kToAll = "scount rcount [stype rtype]";
constexpr std::string_view kRooted = "scount rcount [root [stype rtype]]";
constexpr std::string_view kGatherv = "scount r0..rP-1 [root [stype rtype]]";
constexpr std::string_view kScatterv = "s0..sP-1 rcount [root [stype rtype]]";
constexpr std::string_view kAllgatherv = "scount r0..rP-1 [stype rtype] [displacements]";
constexpr std::string_view kAlltoallv = "sbuf s0..sP-1 rbuf r0..rP-1 [stype rtype]";
constexpr std::string_view kReducescatter = "r0..rP-1 flops [type]";

constexpr std::array kActions = {
    Action{.name = "init", .form = Form::init},
    nothing("finalize"),
    Action{.name = "location", .form = Form::location},
    nothing("comm_size"),
    Action{.name = "compute", .form = Form::compute, .kind = Kind::compute, .usage = "flops"},
    Action{.name = "sleep", .form = Form::sleep, .kind = Kind::sleep, .usage = "seconds"},
    send("send", Kind::send),
    send("ssend", Kind::ssend),
    send("bsend", Kind::bsend),
    send("isend", Kind::isend),
    send("issend", Kind::issend),
    send("ibsend", Kind::ibsend),
    send("send_init", Kind::send_init),
    send("ssend_init", Kind::ssend_init),
    send("bsend_init", Kind::bsend_init),
    receive("recv", Kind::recv),
    receive("irecv", Kind::irecv),
    receive("recv_init", Kind::recv_init),
    probe("probe", Kind::probe),
    probe("iprobe", Kind::iprobe),
    Action{.name = "sendrecv",
           .form = Form::sendrecv,
           .kind = Kind::sendrecv,
           .usage = "scount dst rcount src [stype rtype]"},
    request("wait", Form::request, Kind::wait),
    request("test", Form::request, Kind::test),
    request("start", Form::start, Kind::start),
    requests("startall", Kind::startall),
    requests("waitall", Kind::waitall),
    requests("waitany", Kind::waitany),
    requests("waitsome", Kind::waitsome),
    requests("testall", Kind::testall),
    requests("testany", Kind::testany),
    requests("testsome", Kind::testsome),
    collective("barrier", Operation::barrier, "no arguments"),
    collective("bcast", Operation::bcast, kCount),
    collective("reduce", Operation::reduce, kRootedReduction),
    collective("allreduce", Operation::allreduce, kReduction),
    collective("alltoall", Operation::alltoall, kToAll),
    collective("alltoallv", Operation::alltoallv, kAlltoallv),
    collective("gather", Operation::gather, kRooted),
    collective("gatherv", Operation::gatherv, kGatherv),
    collective("scatter", Operation::scatter, kRooted),
    collective("scatterv", Operation::scatterv, kScatterv),
    collective("allgather", Operation::allgather, kToAll),
    collective("allgatherv", Operation::allgatherv, kAllgatherv),
    collective("reducescatter", Operation::reducescatter, kReducescatter),
    collective("scan", Operation::scan, kReduction),
    collective("exscan", Operation::exscan, kReduction),
    collective("ibarrier", Operation::barrier, "no arguments"),
    collective("ibcast", Operation::bcast, kCount),
    collective("ireduce", Operation::reduce, kRootedReduction),
    collective("iallreduce", Operation::allreduce, kReduction),
    collective("ialltoall", Operation::alltoall, kToAll),
    collective("ialltoallv", Operation::alltoallv, kAlltoallv),
    collective("igather", Operation::gather, kRooted),
    collective("igatherv", Operation::gatherv, kGatherv),
    collective("iscatter", Operation::scatter, kRooted),
    collective("iscatterv", Operation::scatterv, kScatterv),
    collective("iallgather", Operation::allgather, kToAll),
    collective("iallgatherv", Operation::allgatherv, kAllgatherv),
    collective("ireducescatter", Operation::reducescatter, kReducescatter),
    collective("iscan", Operation::scan, kReduction),
    collective("iexscan", Operation::exscan, kReduction),
    communicator("comm_split", Form::comm_split, Kind::comm_split, Operation::comm_split,
                 "parent new color key"),
    communicator("comm_dup", Form::comm_dup, Kind::comm_dup, Operation::comm_dup, "parent new"),
    communicator("comm_free", Form::comm_free, Kind::comm_free, Operation::comm_free, "comm"),
};

// Names of at most 16 characters as two numbers, in lower case.
struct Key {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend constexpr bool operator==(const Key&, const Key&) = default;
};

constexpr std::size_t kLongestName = 16;

constexpr Key key_of(std::string_view word) {
  Key key;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto c = static_cast<std::uint64_t>(static_cast<unsigned char>(lower(word[i])));
    if (i < 8) {
      key.low |= c << (8 * i);
    } else {
      key.high |= c << (8 * (i - 8));
    }
  }
  return key;
}

constexpr std::size_t kSlots = 256;

constexpr std::size_t slot_of(const Key& key) {
  return static_cast<std::size_t>(((key.low ^ (key.high << 7)) * 0x9e3779b97f4a7c15U) >> 56);
}

struct Index {
  std::array<Key, kSlots> keys{};
  std::array<std::uint8_t, kSlots> action{};  // number in kActions plus 1, 0: free

  constexpr Index() {
    for (std::size_t i = 0; i < kActions.size(); ++i) {
      const Key key = key_of(kActions[i].name);
      std::size_t at = slot_of(key);
      while (action[at] != 0) at = (at + 1) % kSlots;
      keys[at] = key;
      action[at] = static_cast<std::uint8_t>(i + 1);
    }
  }
};

constexpr Index kIndex;

const Action* find_known(std::string_view word) {
  if (word.size() > kLongestName) return nullptr;
  const Key key = key_of(word);
  for (std::size_t at = slot_of(key); kIndex.action[at] != 0; at = (at + 1) % kSlots) {
    if (kIndex.keys[at] == key) return &kActions[kIndex.action[at] - 1U];
  }
  return nullptr;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// Levenshtein's distance without regard to case.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

struct Vocabulary::Custom {
  std::string name;
  Action action;
};

std::span<const Action> known_actions() { return kActions; }

Vocabulary::Vocabulary(const std::vector<std::string>& custom_actions) {
  for (const std::string& name : custom_actions) {
    if (name.empty() || name.find_first_of(" \t\r\n#") != std::string::npos) {
      throw std::invalid_argument("'" + name + "' cannot be the name of an action: it is one word");
    }
    if (find(name) != nullptr) {
      throw std::invalid_argument("an action named '" + name + "' is already there");
    }
    auto custom = std::make_unique<Custom>();
    custom->name = name;
    custom->action = {.name = custom->name,
                      .form = Form::custom,
                      .kind = Kind::custom,
                      .operation = Operation::custom};
    customs_.push_back(std::move(custom));
  }
}

Vocabulary::~Vocabulary() = default;

const Action* Vocabulary::find(std::string_view word) const {
  if (const Action* known = find_known(word)) return known;
  for (const auto& custom : customs_) {
    if (same_word(custom->name, word)) return &custom->action;
  }
  return nullptr;
}

std::string Vocabulary::nearest(std::string_view word) const {
  if (word.size() > 2 * kLongestName) return "";
  std::vector<std::pair<std::size_t, std::string_view>> near;
  const auto consider = [&](std::string_view name) {
    const std::size_t edits = distance(word, name);
    if (edits <= 1 + name.size() / 4) near.emplace_back(edits, name);
  };
  for (const Action& action : kActions) consider(action.name);
  for (const auto& custom : customs_) consider(custom->name);
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 3); ++i) {
    if (i > 0) text += i + 1 == std::min<std::size_t>(near.size(), 3) ? " or " : ", ";
    text += near[i].second;
  }
  return text;
}

}  // namespace tisim
