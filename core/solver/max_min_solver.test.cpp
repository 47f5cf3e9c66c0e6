#include "solver/max_min_solver.hpp"

#include <initializer_list>
#include <random>
#include <stdexcept>
#include <vector>

#include "core/test.hpp"
#include "solver/certificate.hpp"
#include "support/invariant.hpp"

namespace tisim {

namespace {

using max_min::Share;

// Records only the members of bottlenecks.
class Listener final : public max_min::ShareListener {
 public:
  void set_shares(std::span<const Share> before) override { changes += before.size(); }
  void form(std::int32_t, std::span<const Share> before, double) override {
    ++formed;
    for (const Share& share : before) members.push_back(share.variable);
  }
  void set_level(std::int32_t, double) override {}
  void join(std::int32_t, std::int32_t variable) override { members.push_back(variable); }
  void update_member(std::int32_t, std::int32_t) override {}
  void remove_member(std::int32_t, std::int32_t variable) override {
    std::erase(members, variable);
  }
  void dissolve(std::int32_t, Stack<std::int32_t>& all) override {
    for (const std::int32_t member : members) all.push_back(member);
    members.clear();
  }
  void leave(std::int32_t, std::int32_t) override {}

  std::size_t changes = 0;
  int formed = 0;
  std::vector<std::int32_t> members;  // members of the only bottleneck
};

// A system, its solver, and a listener.
struct Solved {
  explicit Solved(std::initializer_list<double> capacities) {
    for (const double capacity : capacities) system.add_constraint(capacity, false);
  }
  std::int32_t variable(std::initializer_list<std::int32_t> constraints, double penalty = 1.0) {
    for (const std::int32_t constraint : constraints) system.add_element(constraint, 1.0);
    max_min::VariableType type;
    type.penalty = penalty;
    type.priority = 1.0 / penalty;
    return system.add_variable(type);
  }

  max_min::System system;
  Listener listener;
  MaxMinSolver solver{system, 1e-5, listener};
};

}  // namespace

TEST("max-min solver: the worked example of the header") {
  Solved s{100.0, 60.0};
  const std::int32_t x = s.variable({0});
  const std::int32_t y = s.variable({0, 1});
  const std::int32_t z = s.variable({1}, 2.0);
  s.system.change_count(x, 2);
  s.system.change_count(y, 1);
  s.system.change_count(z, 1);
  s.solver.solve();
  CHECK(test::close(s.solver.share(x), 100.0 / 3, 1e-12));
  CHECK(test::close(s.solver.share(y), 100.0 / 3, 1e-12));
  CHECK(test::close(s.solver.share(z), 60.0 - 100.0 / 3, 1e-12));
}

// Flows of up to six links start and end on a ring of links. Returns the shares reported to the
// listener and the solver's final shares.
namespace {
std::vector<double> shares_on_a_ring(double tolerance, std::size_t& changes) {
  constexpr std::int32_t kNodes = 24;
  constexpr std::int32_t kLongest = 6;
  max_min::System system;
  Listener listener;
  MaxMinSolver solver(system, 1e-5, listener, tolerance);
  solver.set_large(8);
  for (std::int32_t i = 0; i < kNodes; ++i) system.add_constraint(1000.0 + i, false);
  for (std::int32_t from = 0; from < kNodes; ++from) {
    for (std::int32_t length = 1; length <= kLongest; ++length) {
      for (std::int32_t i = 0; i < length; ++i) system.add_element((from + i) % kNodes, 1.0);
      max_min::VariableType type;
      type.penalty = length;
      type.priority = 1.0 / length;
      system.change_count(system.add_variable(type), 8);
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    solver.solve();
    solver.verify();
    const auto variable = static_cast<std::int32_t>(random() % system.variables());
    system.change_count(variable, system.variable(variable).count > 7 ? -1 : 1);
  }
  solver.solve();
  solver.verify();
  changes = listener.changes;
  std::vector<double> shares;
  for (std::size_t i = 0; i < system.variables(); ++i) {
    shares.push_back(solver.share(static_cast<std::int32_t>(i)));
  }
  return shares;
}
}  // namespace

TEST("max-min solver: links within the tolerance keep their levels, and the others' shares") {
  std::size_t of_all = 0;
  std::size_t of_some = 0;
  const std::vector<double> exact = shares_on_a_ring(0.0, of_all);
  const std::vector<double> close = shares_on_a_ring(0.02, of_some);
  CHECK(of_some < of_all / 2);
  for (std::size_t i = 0; i < exact.size(); ++i) CHECK(test::close(close[i], exact[i], 0.1));
}

TEST("max-min: what the bottleneck link leaves of another goes to those that cross only that") {
  Solved s({10, 20});
  const std::int32_t both = s.variable({0, 1});
  const std::int32_t narrow = s.variable({0});
  const std::int32_t wide = s.variable({1});
  for (const std::int32_t variable : {both, narrow, wide}) s.system.change_count(variable, 1);
  s.solver.solve();
  s.solver.verify();
  CHECK(s.solver.share(both) == 5 && s.solver.share(narrow) == 5 && s.solver.share(wide) == 15);
  CHECK(s.solver.is_solved() && s.listener.changes == 3);
}

TEST("max-min: shares are inverse to penalties, and a multiplicity counts") {
  Solved s({90});
  const std::int32_t light = s.variable({0}, 1.0);
  const std::int32_t heavy = s.variable({0}, 2.0);
  s.system.change_count(light, 1);
  s.system.change_count(heavy, 4);
  s.solver.solve();
  s.solver.verify();
  CHECK(test::close(s.solver.share(light), 30) && test::close(s.solver.share(heavy), 15));
}

TEST("max-min: the level of a bottleneck is the share of those that follow it") {
  Solved s({100});
  std::vector<std::int32_t> variables;
  for (int i = 0; i < 21; ++i) variables.push_back(s.variable({0}));
  for (int i = 0; i < 20; ++i) s.system.change_count(variables[static_cast<std::size_t>(i)], 1);
  s.solver.solve();
  s.solver.verify();
  CHECK(s.listener.formed == 1 && s.solver.share(variables[3]) == 5);
  s.system.change_count(variables[20], 1);
  s.solver.solve();
  s.solver.verify();
  CHECK(s.listener.formed == 1 && test::close(s.solver.share(variables[3]), 100.0 / 21));
  s.solver.separate(variables[3]);
  s.solver.solve();
  s.solver.verify();
  CHECK(s.listener.formed == 2);
}

TEST("max-min: a certificate accepts a link that the tolerance just allows, but for rounding") {
  Solved s{100.0};
  std::vector<double> shares;
  for (int i = 0; i < 3; ++i) {
    s.system.change_count(s.variable({0}), 1);
    shares.push_back(35.0 * (1 + 1e-12));
  }
  max_min::Certificate(s.system, shares, 1e-5, 0.05).check();
  CHECK_THROWS(max_min::Certificate(s.system, shares, 1e-5, 0.049).check(), BrokenInvariant,
               "its variables use");
}

TEST("max-min: random changes leave a solution that its certificate proves") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t most) {
      return static_cast<std::int32_t>(random() % most);
    };
    Solved s({100, 120, 80, 90, 110, 70, 300, 60});
    std::vector<std::int32_t> variables;
    for (int i = 0; i < 40; ++i) {
      const std::int32_t a = below(8);
      variables.push_back(s.variable({a, (a + 1 + below(7)) % 8}, 0.5 * (1 + below(4))));
    }
    if (seed % 2 == 0) s.solver.set_large(8);
    for (int change = 0; change < 100; ++change) {
      const std::int32_t variable = variables[static_cast<std::size_t>(below(40))];
      const std::int32_t count = s.system.variable(variable).count;
      s.system.change_count(variable, count > 0 && below(2) == 0 ? -count : 1);
      s.solver.solve();
      s.solver.verify();
    }
  }
}

TEST("max-min: a search that finds a large component leaves the levels of its links known") {
  // A chain: a flow over every two neighbouring links, and one that starts and ends at one end.
  constexpr std::int32_t kLinks = 64;
  Solved s({});
  for (std::int32_t i = 0; i <= kLinks; ++i) s.system.add_constraint(100.0 + i, false);
  for (std::int32_t i = 0; i < kLinks; ++i) s.system.change_count(s.variable({i, i + 1}), 1);
  const std::int32_t changing = s.variable({0, 1});
  s.solver.set_large(8);
  s.solver.solve();
  int forgotten = 0;
  // The size of a component is checked again after some dozens of changes.
  for (int change = 0; change < 100; ++change) {
    s.system.change_count(changing, change % 2 == 0 ? 1 : -1);
    s.solver.solve();
    s.solver.verify();
    for (std::int32_t i = 0; i <= kLinks; ++i) {
      forgotten += s.system.constraint(i).saturation_level == max_min::kUnknownLevel ? 1 : 0;
    }
  }
  CHECK(forgotten == 0);
}

TEST("max-min: changes in a mesh of long routes are solved near them") {
  // Routes along the rows and columns of a torus, with 0.05 of a flow on the reverse route, as in
  // SimGrid.
  constexpr std::int32_t kSide = 12;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::int32_t most) {
      return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(most));
    };
    Solved s({});
    for (std::int32_t i = 0; i < 4 * kSide * kSide; ++i) {
      s.system.add_constraint(100.0 + (seed % 2 == 0 ? 0 : below(20)), false);
    }
    std::vector<std::int32_t> variables;
    for (int i = 0; i < 400; ++i) {
      std::int32_t x = below(kSide), y = below(kSide), hops = 0;
      const auto step = [&](std::int32_t axis) {
        const std::int32_t link = 4 * (y * kSide + x) + 2 * axis;
        s.system.add_element(link, 1.0);
        s.system.add_element(link + 1, 0.05);
        (axis == 0 ? x : y) = ((axis == 0 ? x : y) + 1) % kSide;
        ++hops;
      };
      for (std::int32_t along = below(kSide / 2); along > 0; --along) step(0);
      for (std::int32_t along = 1 + below(kSide / 2); along > 0; --along) step(1);
      max_min::VariableType type;
      // Without penalties and bounds, many links saturate at one level.
      const bool alike = seed % 4 == 0;
      type.penalty = alike ? 1 : hops;
      type.priority = 1.0 / type.penalty;
      if (!alike && below(3) == 0) type.bound = 10 + below(30);
      variables.push_back(s.system.add_variable(type));
    }
    s.solver.set_large(8);
    std::size_t change = 0, most_changes = 0;
    for (const std::int32_t variable : variables) s.system.change_count(variable, below(4) > 0);
    for (; change < 400; ++change) {
      s.solver.solve();
      s.solver.verify();
      const std::size_t before = s.listener.changes;
      for (int i = 1 + below(3); i > 0; --i) {
        const std::int32_t variable = variables[static_cast<std::size_t>(below(400))];
        const std::int32_t count = s.system.variable(variable).count;
        s.system.change_count(variable, count > 0 && below(2) == 0 ? -count : 1);
      }
      s.solver.solve();
      s.solver.verify();
      most_changes += s.listener.changes - before;
    }
  }
}

TEST("max-min: local solutions in a tree of two levels, where many links saturate together") {
  // All pairs of hosts: one link up and one down per host and per group of four, with a small load
  // by reverse routes.
  constexpr std::int32_t kHosts = 16, kGroup = 4;
  // Each seed has produced a pair that stayed below the level of its link.
  for (const auto& [seed, most_changes] : {std::pair{19U, 8U}, {33U, 8U}, {202U, 2U}, {237U, 2U}}) {
    std::mt19937 random(seed);
    Solved s({});
    for (std::int32_t i = 0; i < 2 * (kHosts + kHosts / kGroup); ++i) {
      s.system.add_constraint(1250, false);
    }
    std::vector<std::int32_t> variables;
    const auto add_hop = [&s](std::int32_t up, std::int32_t down) {
      s.system.add_element(2 * up, 1.0);
      s.system.add_element(2 * up + 1, 0.05);
      s.system.add_element(2 * down + 1, 1.0);
      s.system.add_element(2 * down, 0.05);
    };
    for (std::int32_t from = 0; from < kHosts; ++from) {
      for (std::int32_t to = 0; to < kHosts; ++to) {
        if (from == to) continue;
        add_hop(from, to);
        max_min::VariableType type;
        if (from / kGroup != to / kGroup) {
          add_hop(kHosts + from / kGroup, kHosts + to / kGroup);
          type.penalty = 2.0;
          type.priority = 0.5;
        }
        variables.push_back(s.system.add_variable(type));
      }
    }
    s.solver.set_large(8);
    for (const std::int32_t variable : variables) {
      if (random() % 2 == 1) s.system.change_count(variable, 1);
    }
    for (int instant = 0; instant < 150; ++instant) {
      s.solver.solve();
      s.solver.verify();
      for (auto changes = 1 + random() % most_changes; changes > 0; --changes) {
        const std::int32_t variable = variables[random() % variables.size()];
        s.system.change_count(variable, s.system.variable(variable).count > 0 ? -1 : 1);
      }
    }
  }
}

TEST("max-min: an all-to-all is solved at once, and so are many ends of one instant") {
  constexpr std::int32_t kHosts = 40;
  Solved s({});
  s.solver.set_large(8);
  for (std::int32_t i = 0; i < 2 * kHosts; ++i) s.system.add_constraint(1250, false);
  for (std::int32_t from = 0; from < kHosts; ++from) {
    for (std::int32_t to = 0; to < kHosts; ++to) {
      if (from != to) s.system.change_count(s.variable({2 * from, 2 * to + 1}), 1);
    }
  }
  s.solver.solve();
  s.solver.verify();
  CHECK(s.solver.solves() <= 2);
  for (int instant = 1; instant <= 3; ++instant) {
    const std::size_t before = s.solver.solves();
    for (std::int32_t i = instant; i < kHosts * (kHosts - 1); i += 4) s.system.change_count(i, -1);
    s.solver.solve();
    s.solver.verify();
    CHECK(s.solver.solves() == before + 1);
  }
}

TEST("max-min: when a link with many members has room for all, these get their limits") {
  constexpr std::int32_t kFlows = 40, kLeft = 4;
  Solved s({100.0, 50.0});
  s.system.expect_changes();  // such components are not solved in parts
  s.solver.set_large(8);
  max_min::VariableType type;
  type.bound = 20.0;
  for (std::int32_t i = 0; i < kFlows; ++i) {
    s.system.add_element(0, 1.0);
    s.system.change_count(s.system.add_variable(type), 1);
  }
  s.solver.solve();
  CHECK(test::close(s.solver.share(0), 100.0 / kFlows, 1e-12));
  for (std::int32_t i = kLeft; i < kFlows; ++i) s.system.change_count(i, -1);
  s.solver.solve();
  s.solver.verify();
  CHECK(s.solver.share(0) == 20.0);
}

namespace {

// Three variables over two links, all limited by the first.
struct Three : Solved {
  Three() : Solved({30, 100}) {
    for (int i = 0; i < 3; ++i) system.change_count(variable({0, 1}), 1);
    solver.solve();
    solver.verify();
  }
};

}  // namespace

TEST("max-min: verify objects to shares that are not a solution") {
  Three a;
  a.system.variable(1).share = 11;
  CHECK_THROWS(a.solver.verify(), BrokenInvariant, "its variables use 31");
  Three b;
  b.system.variable(0).share = 9;
  b.system.variable(1).share = 11;
  CHECK_THROWS(b.solver.verify(), BrokenInvariant, "no saturated constraint holds it back");
  Three c;
  c.system.variable(2).share = 9;
  CHECK_THROWS(c.solver.verify(), BrokenInvariant, "no saturated constraint holds it back");
  Three d;
  d.system.variable(2).share = 31;
  CHECK_THROWS(d.solver.verify(), BrokenInvariant, "bytes/s of 30");
}

TEST("max-min: verify objects to a system that contradicts itself") {
  Three a;
  a.system.constraint(1).count = 2;
  CHECK_THROWS(a.solver.verify(), BrokenInvariant, "constraint 1: its count");
  Three b;
  b.system.constraint(0).members.pop_back();
  CHECK_THROWS(b.solver.verify(), BrokenInvariant, "constraint 0: its members");
  Three c;
  c.system.constraint(0).demand *= 1.5;
  CHECK_THROWS(c.solver.verify(), BrokenInvariant, "constraint 0: its demand");
  Three d;
  d.system.variable(1).count = 2;
  CHECK_THROWS(d.solver.verify(), BrokenInvariant, "variable 1: its limit");
  Three e;
  e.system.variable(1).stale = true;
  CHECK_THROWS(e.solver.verify(), BrokenInvariant, "stale");
  Three f;
  f.system.change_count(1, 1);
  CHECK_THROWS(f.solver.verify(), BrokenInvariant, "all changes are solved");
}

TEST("max-min: verify objects to a bottleneck that others do not follow") {
  Solved s({100});
  for (int i = 0; i < 20; ++i) s.system.change_count(s.variable({0}), 1);
  s.solver.solve();
  s.solver.verify();
  s.system.variable(7).bottleneck = -1;
  CHECK_THROWS(s.solver.verify(), BrokenInvariant, "a bottleneck counts its members");
}

TEST("max-min: there may be any number of different weights") {
  constexpr std::int32_t kFlows = 20;
  for (const bool small : {false, true}) {
    Solved s({210.0, 1000.0, 40.0});
    if (small) s.solver.set_large(8);
    const auto add = [&s](double weight, const std::vector<std::int32_t>& links) {
      for (const std::int32_t link : links) s.system.add_element(link, weight);
      const std::int32_t made = s.system.add_variable({});
      s.system.change_count(made, 1);
      return made;
    };
    for (std::int32_t i = 1; i <= kFlows; ++i) add(i, {0, 1});
    // Repeated weights of one link add up.
    const std::int32_t twice = add(10.0, {2, 2});
    s.solver.solve();
    s.solver.verify();
    for (std::int32_t i = 0; i < kFlows; ++i) CHECK(test::close(s.solver.share(i), 1.0, 1e-12));
    CHECK(test::close(s.solver.share(twice), 2.0, 1e-12));
    s.system.change_count(kFlows - 1, -1);
    s.system.change_count(kFlows - 2, -1);
    s.solver.solve();
    s.solver.verify();
    CHECK(test::close(s.solver.share(0), 210.0 / 171.0, 1e-12));
    s.system.copy_elements(kFlows - 3);
    s.system.change_count(s.system.add_variable({}), 1);
    s.solver.solve();
    s.solver.verify();
    CHECK(test::close(s.solver.share(0), 210.0 / 189.0, 1e-12));
  }
}

}  // namespace tisim
