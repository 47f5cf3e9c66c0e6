#include <limits>
#include <map>
#include <vector>

#include "core/test.hpp"
#include "host/cpu.hpp"
#include "host/disks.hpp"

namespace tisim {

namespace {

// Hosts with computations that start at given dates; computes when each of them ends.
class Machine {
 public:
  Machine(double speed, std::int32_t cores, std::int32_t hosts = 1) {
    platform_.host_speed.assign(static_cast<std::size_t>(hosts), speed);
    platform_.host_cores.assign(static_cast<std::size_t>(hosts), cores);
  }

  void add(double date, double flops, std::int32_t host = 0) {
    starts_.push_back({date, flops, host});
  }

  // Limits the total speed of all cores of a host, flop/s.
  void share_memory(std::size_t host, double speed) {
    platform_.host_memory.assign(platform_.host_speed.size(),
                                 std::numeric_limits<double>::infinity());
    platform_.host_memory[host] = speed;
  }

  // The owner of the i-th computation added is i.
  std::vector<double> ends() {
    Agenda agenda(platform_.host_speed.size());
    Cpu cpu(platform_, 1e-9, agenda);
    std::vector<double> ends(starts_.size(), -1.0);
    std::size_t next = 0;
    while (next < starts_.size() || !agenda.empty()) {
      const bool starts =
          next < starts_.size() && (agenda.empty() || starts_[next].date <= agenda.next());
      if (starts) {
        const Start& start = starts_[next];
        cpu.start(start.host, start.flops, static_cast<std::int32_t>(next), start.date);
        cpu.settle(start.date);
        cpu.verify(start.date);
        ++next;
        continue;
      }
      const double now = agenda.next();
      const std::int32_t host = Agenda::index(agenda.top());
      agenda.pop();
      Stack<std::int32_t> owners;
      cpu.collect_ended(host, now, owners);
      cpu.settle(now);
      cpu.verify(now);
      for (const std::int32_t owner : owners) {
        ends[static_cast<std::size_t>(owner)] = now;
        order.push_back(owner);
      }
    }
    return ends;
  }

  std::vector<std::int32_t> order;  // order of the ends

 private:
  struct Start {
    double date, flops;
    std::int32_t host;
  };
  PlatformData platform_;
  std::vector<Start> starts_;
};

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!test::close(a[i], b[i], 1e-12)) return false;
  }
  return true;
}

}  // namespace

TEST("cpu: more computations than cores share all cores") {
  Machine machine(1e9, 2);
  for (int i = 0; i < 4; ++i) machine.add(0.0, 1e9);
  machine.add(3.0, 1e9);
  CHECK(same(machine.ends(), {2.0, 2.0, 2.0, 2.0, 4.0}));
  CHECK((machine.order == std::vector<std::int32_t>{3, 2, 1, 0, 4}));
}

TEST("cpu: computations that end within the precision end together") {
  Machine machine(1e9, 2);
  machine.add(0.0, 1e9);
  machine.add(0.0, 1e9 + 0.5);  // half a nanosecond longer
  machine.add(0.0, 1e9 + 5.0);
  const std::vector<double> ends = machine.ends();
  CHECK(ends[0] == ends[1]);
  CHECK(ends[2] > ends[1]);
}

TEST("cpu: computations share what memory allows, and none is faster than its core") {
  Machine machine(1e9, 4, 2);
  machine.share_memory(0, 1.5e9);
  for (int i = 0; i < 3; ++i) machine.add(0.0, 0.5e9 + 0.25e9 * i, 0);
  for (int i = 0; i < 4; ++i) machine.add(0.0, 1e9, 1);
  // Three at 0.5 Gflop/s each, two at 0.75, the last at the speed of its core; on the other host
  // there is no slowdown.
  CHECK(same(machine.ends(), {1.0, 4.0 / 3.0, 4.0 / 3.0 + 0.25, 1.0, 1.0, 1.0, 1.0}));
}

TEST("cpu: the threads of a computation take shares of the cores and are told of once") {
  PlatformData platform;
  platform.host_speed = {1e9};
  platform.host_cores = {2};
  Agenda agenda(1);
  Cpu cpu(platform, 1e-9, agenda);
  Stack<std::int32_t> owners;
  // Three computations on two cores, two of them of owner 0.
  cpu.start(0, 1e9, 0, 0.0);
  cpu.add_threads(0, 1e9, 0, cpu.cores(0, 8) - 1, 0.0);
  cpu.start(0, 1e9, 7, 0.0);
  cpu.settle(0.0);
  CHECK(test::close(agenda.next(), 1.5, 1e-12));
  agenda.pop();
  cpu.collect_ended(0, 1.5, owners);
  CHECK(owners.size() == 2);
  CHECK(owners[0] + owners[1] == 7);
  // The threads are dropped with their owner.
  cpu.start(0, 1e9, 3, 2.0);
  cpu.add_threads(0, 1e9, 3, 1, 2.0);
  CHECK(cpu.drop(0, 3, 2.0));
  std::vector<std::int32_t> left;
  cpu.list_owners(0, left);
  CHECK(left.empty());
}

TEST("cpu: probes that use half a core leave the rest to computations") {
  PlatformData platform;
  platform.host_speed = {1e9, 1e9};
  platform.host_cores = {1, 1};
  platform.disk_host = {0};  // its events are numbered between those of hosts and probes
  constexpr double kShare = 0.5;
  Agenda agenda(platform.resources() + Cpu::probe_events(platform, kShare));
  Cpu cpu(platform, 1e-9, agenda, kShare);
  Stack<std::int32_t> owners;
  const auto ends = [&](double date) {
    cpu.verify(date);
    CHECK(test::close(agenda.next(), date, 1e-12));
    const std::int32_t event = Agenda::index(agenda.top());
    agenda.pop();
    owners.clear();
    cpu.collect_ended(event, date, owners);
    cpu.settle(date);
    CHECK(owners.size() == 1);
    return owners[0];
  };
  // Alone at half the speed; next to one computation both at half; next to two all at a third.
  cpu.start_probe(1, 0.5e9, 0, 0.0);
  cpu.settle(0.0);
  CHECK(ends(1.0) == 0);
  cpu.start_probe(1, 1e9, 1, 1.0);
  cpu.start(1, 0.5e9, 2, 1.0);
  cpu.settle(1.0);
  CHECK(ends(2.0) == 2);
  cpu.start(1, 0.2e9, 3, 2.0);
  cpu.start(1, 0.3e9, 4, 2.0);
  cpu.settle(2.0);
  CHECK(ends(2.6) == 3);
  CHECK(ends(2.8) == 4);
  CHECK(ends(3.2) == 1);
  // A dropped action leaves its share to the others, on either side.
  cpu.start_probe(1, 1e9, 5, 4.0);
  cpu.start(1, 1e9, 6, 4.0);
  cpu.settle(4.0);
  CHECK(cpu.drop(1, 5, 4.5));
  cpu.settle(4.5);
  CHECK(ends(5.25) == 6);
  CHECK(!cpu.drop(1, 5, 5.25));
}

namespace {

// One disk on the second of two hosts; computes when accesses that all start at 0 end.
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

constexpr Access kRead = Access::read;
constexpr Access kWrite = Access::write;

}  // namespace

TEST("disks: a read and a write alone get their bandwidths") {
  CHECK(same(DiskMachine(200.0, 80.0).ends({{kRead, 400.0}}), {2.0}));
  CHECK(same(DiskMachine(200.0, 80.0).ends({{kWrite, 400.0}}), {5.0}));
}

TEST("disks: reads share what is read, and writes what is written") {
  CHECK(same(DiskMachine(200.0, 80.0).ends({{kRead, 100.0}, {kRead, 300.0}}), {1.0, 2.0}));
  CHECK(same(DiskMachine(200.0, 80.0).ends({{kWrite, 40.0}, {kWrite, 40.0}}), {1.0, 1.0}));
}

TEST("disks: reads and writes together get the larger bandwidth, max-min fairly") {
  // 80 for the write, the other 120 for the read; then the read alone.
  CHECK(same(DiskMachine(200.0, 80.0).ends({{kRead, 320.0}, {kWrite, 80.0}}), {2.0, 1.0}));
  // Three reads and a write of 50 each; then 66.7 each.
  CHECK(same(DiskMachine(200.0, 80.0)
                 .ends({{kRead, 150.0}, {kRead, 150.0}, {kRead, 150.0}, {kWrite, 50.0}}),
             {2.5, 2.5, 2.5, 1.0}));
  // Reads may be the slow side.
  CHECK(same(DiskMachine(80.0, 200.0).ends({{kRead, 80.0}, {kWrite, 320.0}}), {1.0, 2.0}));
  // Equal bandwidths behave as one.
  CHECK(same(DiskMachine(100.0, 100.0).ends({{kRead, 50.0}, {kWrite, 50.0}}), {1.0, 1.0}));
}

TEST("disks: an empty access ends at once") {
  CHECK(same(DiskMachine(200.0, 80.0).ends({{kWrite, 0.0}}), {0.0}));
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
