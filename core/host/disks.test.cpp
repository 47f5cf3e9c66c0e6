#include "host/disks.hpp"

#include <vector>

#include "core/test.hpp"

namespace tisim {

namespace {

// One disk on the second of two hosts; accesses that all start at 0, and when they end.
class DiskMachine {
 public:
  DiskMachine(double read_bandwidth, double write_bandwidth) {
    platform_.host_speed = {1e9, 1e9};
    platform_.disk_host = {1};
    platform_.disk_read_bandwidth = {read_bandwidth};
    platform_.disk_write_bandwidth = {write_bandwidth};
  }

  std::vector<double> ends(const std::vector<std::pair<Access, double>>& accesses) {
    Agenda agenda(platform_.resources());
    Disks disks(platform_, 1e-9, agenda);
    std::vector<double> ends(accesses.size(), -1.0);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      disks.start(0, accesses[i].first, accesses[i].second, static_cast<std::int32_t>(i), 0.0);
    }
    for (double now = 0.0;;) {
      disks.settle(now);
      disks.verify(now);
      if (agenda.empty()) return ends;
      now = agenda.next();
      const std::int32_t event = Agenda::index(agenda.top());
      agenda.pop();
      Stack<std::int32_t> owners;
      disks.collect_ended(event, now, owners);
      for (const std::int32_t owner : owners) ends[static_cast<std::size_t>(owner)] = now;
    }
  }

  const PlatformData& platform() const { return platform_; }

 private:
  PlatformData platform_;
};

bool equal_times(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!test::close(a[i], b[i], 1e-12)) return false;
  }
  return true;
}

constexpr Access kRead = Access::read;
constexpr Access kWrite = Access::write;

}  // namespace

TEST("disks: a read and a write alone get their bandwidths") {
  CHECK(equal_times(DiskMachine(200.0, 80.0).ends({{kRead, 400.0}}), {2.0}));
  CHECK(equal_times(DiskMachine(200.0, 80.0).ends({{kWrite, 400.0}}), {5.0}));
}

TEST("disks: reads share what is read, and writes what is written") {
  CHECK(equal_times(DiskMachine(200.0, 80.0).ends({{kRead, 100.0}, {kRead, 300.0}}), {1.0, 2.0}));
  CHECK(equal_times(DiskMachine(200.0, 80.0).ends({{kWrite, 40.0}, {kWrite, 40.0}}), {1.0, 1.0}));
}

TEST("disks: reads and writes together get the larger bandwidth, max-min fairly") {
  // 80 for the write, the other 120 for the read; then the read alone.
  CHECK(equal_times(DiskMachine(200.0, 80.0).ends({{kRead, 320.0}, {kWrite, 80.0}}), {2.0, 1.0}));
  // Three reads and a write of 50 each; then 66.7 each.
  CHECK(equal_times(DiskMachine(200.0, 80.0)
                        .ends({{kRead, 150.0}, {kRead, 150.0}, {kRead, 150.0}, {kWrite, 50.0}}),
                    {2.5, 2.5, 2.5, 1.0}));
  // The slow side may be that of reads.
  CHECK(equal_times(DiskMachine(80.0, 200.0).ends({{kRead, 80.0}, {kWrite, 320.0}}), {1.0, 2.0}));
  // Equal bandwidths are one.
  CHECK(equal_times(DiskMachine(100.0, 100.0).ends({{kRead, 50.0}, {kWrite, 50.0}}), {1.0, 1.0}));
}

TEST("disks: an empty access ends at once") {
  CHECK(equal_times(DiskMachine(200.0, 80.0).ends({{kWrite, 0.0}}), {0.0}));
}

TEST("disks: who is dropped leaves his share to the others") {
  DiskMachine machine(200.0, 80.0);
  Agenda agenda(machine.platform().resources());
  Disks disks(machine.platform(), 1e-9, agenda);
  disks.start(0, kRead, 320.0, 0, 0.0);
  disks.start(0, kWrite, 800.0, 1, 0.0);
  disks.settle(0.0);
  CHECK(!disks.drop(0, 7, 1.0));
  CHECK(disks.drop(0, 1, 1.0));
  disks.settle(1.0);
  disks.verify(1.0);
  CHECK(test::close(agenda.next(), 2.0, 1e-12));
  std::vector<std::int32_t> left;
  disks.list_owners(0, left);
  CHECK((left == std::vector<std::int32_t>{0}));
}

}  // namespace tisim
