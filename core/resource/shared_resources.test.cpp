#include "resource/shared_resources.hpp"

#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/test.hpp"

namespace tisim {

struct ResourceTampering {
  template <class Policy>
  static auto& at(SharedResources<Policy>& resources, std::int32_t index) {
    return resources.at(index);
  }
};

namespace {

// A disk as a third user of resources: reads and writes each share their own bandwidth. Disk i is
// the resources 2 i (reads) and 2 i + 1 (writes).
class Disks {
 public:
  Disks(double read_bandwidth, double write_bandwidth, std::size_t count = 1)
      : channels_(bandwidths(read_bandwidth, write_bandwidth, count), 1e-9, {ends_}) {}

  void read(std::int32_t disk, double bytes, std::int32_t owner, double now) {
    channels_.start(2 * disk, bytes, owner, now);
  }
  void write(std::int32_t disk, double bytes, std::int32_t owner, double now) {
    channels_.start(2 * disk + 1, bytes, owner, now);
  }

  // Returns when each owner is notified, starting from `now`.
  std::map<std::int32_t, double> run(double now) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::map<std::int32_t, double> ended_at;
    for (;;) {
      channels_.settle(now);
      channels_.verify(now);
      std::int32_t next = -1;
      double date = kNever;
      for (const auto& [channel, end] : ends_) {
        if (end >= date) continue;
        next = channel;
        date = end;
      }
      if (next < 0) return ended_at;
      now = date;
      ends_.erase(next);
      Stack<std::int32_t> owners;
      channels_.collect_ended(next, now, owners);
      for (const std::int32_t owner : owners) ended_at[owner] = now;
    }
  }

  struct Channels {
    std::map<std::int32_t, double>& ends;
    double rate(std::int32_t, double bandwidth, std::size_t transfers) const {
      return bandwidth / static_cast<double>(transfers);
    }
    void set_end(std::int32_t channel, double date) { ends[channel] = date; }
    void remove_end(std::int32_t channel) { ends.erase(channel); }
  };
  SharedResources<Channels>& channels() { return channels_; }

 private:
  static std::vector<double> bandwidths(double read, double write, std::size_t count) {
    std::vector<double> all;
    for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), {read, write});
    return all;
  }

  std::map<std::int32_t, double> ends_;  // by channel with actions
  SharedResources<Channels> channels_;
};

using Told = std::map<std::int32_t, double>;

}  // namespace

TEST("resource: without bandwidth nothing moves until there is some") {
  Disks disks(100, 100);
  disks.write(0, 300, 1, 0.0);
  disks.channels().settle(0.0);
  disks.channels().set_capacity(1, 0.0, 1.0);
  CHECK(disks.run(1.0).empty());
  std::vector<std::int32_t> starved;
  disks.channels().list_starved(starved);
  CHECK((starved == std::vector<std::int32_t>{1}));
  disks.channels().set_capacity(1, 50.0, 3.0);
  CHECK((disks.run(3.0) == Told{{1, 7.0}}));
}

TEST("resource: verify objects to what has been corrupted") {
  const auto check = [](const char* part, auto tamper) {
    Disks disks(100, 100);
    for (std::int32_t i = 0; i < 3; ++i) disks.read(0, 100.0 * (i + 1), i, 0.0);
    disks.channels().settle(0.0);
    disks.channels().verify(1.0);
    tamper(disks.channels());
    std::string caught = "nothing";
    try {
      disks.channels().verify(1.0);
    } catch (const BrokenInvariant& error) {
      caught = error.what();
    }
    const bool as_said = caught.find(part) != std::string::npos;
    if (!as_said) std::fprintf(stderr, "caught: %s, not: %s\n", caught.c_str(), part);
    CHECK(as_said);
  };
  using Channels = SharedResources<Disks::Channels>;
  check("resource 0: its rate is that of its capacity",
        [](Channels& channels) { ResourceTampering::at(channels, 0).rate *= 2; });
  check("resource 0: its actions are a heap", [](Channels& channels) {
    const RunningAction* first = ResourceTampering::at(channels, 0).actions.begin();
    const_cast<RunningAction*>(first)->finish = 1e9;
  });
  check("resource 0: its clock is not ahead",
        [](Channels& channels) { ResourceTampering::at(channels, 0).clock.updated = 2.0; });
  check("resource 0: no end of an action is overdue",
        [](Channels& channels) { ResourceTampering::at(channels, 0).clock.done += 90.0; });
  check("all resources are settled",
        [](Channels& channels) { channels.set_capacity(0, 50.0, 1.0); });
}

}  // namespace tisim
