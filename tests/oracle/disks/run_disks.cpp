// Reads from and writes to disks in SimGrid, and prints when each access ends.
//
//   run_disks PLATFORM < accesses      accesses: "start host disk read|write bytes", one per line
//
// Prints the end of each access in seconds, in the order of the lines, with 17 significant digits.
#include <cstdio>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

// Declares the smpi/ options, which a <config> may set; <smpi/smpi.h> would rename main().
extern "C" void smpi_init_options();

namespace {

struct Access {
  double start;
  std::string host, disk, kind;
  unsigned long long bytes;
  double end = -1.0;
};

void run(Access& access) {
  s4u::this_actor::sleep_until(access.start);
  for (s4u::Disk* disk : s4u::this_actor::get_host()->get_disks()) {
    if (disk->get_name() != access.disk) continue;
    if (access.kind == "read") {
      disk->read(access.bytes);
    } else {
      disk->write(access.bytes);
    }
  }
  access.end = s4u::Engine::get_clock();
}

}  // namespace

int main(int argc, char** argv) {
  smpi_init_options();
  s4u::Engine engine(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: run_disks PLATFORM < accesses\n");
    return 2;
  }
  engine.load_platform(argv[1]);
  std::vector<Access> accesses;
  for (Access access;
       std::cin >> access.start >> access.host >> access.disk >> access.kind >> access.bytes;) {
    accesses.push_back(access);
  }
  for (Access& access : accesses) {
    s4u::Actor::create("access", engine.host_by_name(access.host), [&access] { run(access); });
  }
  engine.run();
  for (const Access& access : accesses) std::printf("%.17g\n", access.end);
  return 0;
}
