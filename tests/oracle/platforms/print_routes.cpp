// Prints SimGrid's view of a platform file: hosts, links and routes, one tab-separated line each.
//
//   print_routes PLATFORM < pairs       pairs: "source<TAB>destination", one per line
//
//   H name speed cores
//   L name bandwidth latency policy
//   R source destination latency link...
//   E source destination message        SimGrid refuses the pair
//
// Numbers have 17 significant digits.
#include <cstdio>
#include <exception>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

// Declares the smpi/ options, which a <config> may set; <smpi/smpi.h> would rename main().
extern "C" void smpi_init_options();

namespace {

void print_route(const s4u::Host& source, const s4u::Host& destination) {
  std::vector<s4u::Link*> links;
  double latency = 0.0;
  source.route_to(&destination, links, &latency);
  std::printf("R\t%s\t%s\t%.17g", source.get_cname(), destination.get_cname(), latency);
  for (const s4u::Link* link : links) {
    std::printf("\t%s", link->get_cname());
  }
  std::printf("\n");
}

void print_resources(const s4u::Engine& engine) {
  for (const s4u::Host* host : engine.get_all_hosts()) {
    std::printf("H\t%s\t%.17g\t%d\n", host->get_cname(), host->get_speed(), host->get_core_count());
  }
  for (const s4u::Link* link : engine.get_all_links()) {
    const bool fatpipe = link->get_sharing_policy() == s4u::Link::SharingPolicy::FATPIPE;
    std::printf("L\t%s\t%.17g\t%.17g\t%s\n", link->get_cname(), link->get_bandwidth(),
                link->get_latency(), fatpipe ? "FATPIPE" : "SHARED");
  }
}

}  // namespace

int main(int argc, char** argv) {
  smpi_init_options();
  s4u::Engine engine(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: print_routes PLATFORM < pairs\n");
    return 2;
  }
  engine.load_platform(argv[1]);
  engine.seal_platform();
  print_resources(engine);
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::size_t tab = line.find('\t');
    const std::string source = line.substr(0, tab);
    const std::string destination = line.substr(tab + 1);
    try {
      print_route(*engine.host_by_name(source), *engine.host_by_name(destination));
    } catch (const std::exception& error) {
      std::string message = error.what();
      message = message.substr(0, message.find('\n'));
      std::printf("E\t%s\t%s\t%s\n", source.c_str(), destination.c_str(), message.c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}
