#include "trace/vocabulary/collective_call.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "trace/vocabulary/datatype.hpp"

namespace tisim {

namespace {

// Parses a usage of the table. An unknown word is not a constant expression and does not compile.
constexpr CollectiveGrammar read_usage(std::string_view usage) {
  CollectiveGrammar grammar;
  if (usage == "no arguments") return grammar;
  while (!usage.empty()) {
    const std::size_t length = std::min(usage.find_first_of(" ]"), usage.size());
    const std::string_view word = usage.substr(0, length);
    const CountPosition here{grammar.numbers, grammar.vectors};
    if (word == "D" || word == "to0..toD-1" || word == "S" || word == "from0..fromS-1") {
      grammar.neighbours = true;
    } else if (word == "count" || word == "scount") {
      grammar.send_count = here;
      ++grammar.numbers;
    } else if (word == "rcount") {
      grammar.receive_count = here;
      ++grammar.numbers;
    } else if (word == "sbuf" || word == "rbuf") {
      ++grammar.numbers;
    } else if (word == "s0..sP-1" || word == "s0..sD-1") {
      grammar.send_counts = here;
      ++grammar.vectors;
    } else if (word == "r0..rP-1" || word == "r0..rS-1") {
      grammar.receive_counts = here;
      ++grammar.vectors;
    } else if (word == "flops") {
      ++grammar.flops;
    } else if (word == "[root") {
      ++grammar.roots;
    } else if (word == "[type" || word == "[stype" || word == "rtype") {
      ++grammar.types;
    } else if (word == "[displacements") {
      (grammar.types == 0 ? grammar.displacements_of_each : grammar.displacements) = true;
    } else {
      throw "no collective has such an argument";
    }
    usage.remove_prefix(std::min(usage.find_first_not_of(" ]", length), usage.size()));
  }
  return grammar;
}

constexpr auto read_usages() {
  std::array<CollectiveGrammar, kCollectives> grammars{};
  for (std::size_t i = 0; i < kCollectives; ++i) {
    grammars[i] = read_usage(kCollectiveTraits[i].usage);
  }
  return grammars;
}

constexpr auto kGrammars = read_usages();

}  // namespace

const CollectiveGrammar& grammar_of(Operation collective) {
  return kGrammars[static_cast<std::size_t>(collective)];
}

CollectiveLayout::CollectiveLayout(Operation collective, std::int64_t size) {
  const CollectiveGrammar& grammar = grammar_of(collective);
  const std::int64_t vector = std::max<std::int64_t>(size, 1);
  counts_ = grammar.numbers + grammar.vectors * vector;
  flops_ = grammar.flops;
  roots_ = grammar.roots;
  types_ = grammar.types;
  displacements_ = grammar.displacements ? vector : 0;
  displacements_of_each_ = grammar.displacements_of_each ? grammar.vectors * vector : 0;
  vector_ = vector;
  has_roles_ = !grammar.neighbours && (size > 0 || grammar.vectors == 0);
  if (grammar.neighbours) counts_ = 2 + grammar.numbers;
}

CollectiveLayout::CollectiveLayout(const Call& call, std::int64_t size)
    : CollectiveLayout(call.operation, size) {
  const CollectiveGrammar& grammar = grammar_of(call.operation);
  if (!grammar.neighbours) return;
  const std::vector<double>& arguments = call.arguments;
  const auto degree = [&](std::size_t place) {
    const bool is_there = place < arguments.size() && arguments[place] >= 0 &&
                          arguments[place] <= static_cast<double>(arguments.size());
    return is_there ? static_cast<std::int64_t>(arguments[place]) : 0;
  };
  destinations_ = degree(0);
  sources_ = degree(static_cast<std::size_t>(destinations_) + 1);
  neighbours_ = 2 + destinations_ + sources_;
  counts_ = neighbours_ + grammar.numbers;
  if (grammar.send_counts.exists()) counts_ += destinations_;
  if (grammar.receive_counts.exists()) counts_ += sources_;
  has_roles_ = true;
}

bool CollectiveLayout::accepts(std::int64_t arguments) const {
  const std::int64_t least = counts_ + flops_;
  if (!has_roles_) return arguments >= least;
  const std::int64_t most = least + roots_ + types_;
  if (arguments >= least && arguments <= most) return true;
  if (has_displacements_of_each(arguments)) return true;
  return displacements_ > 0 &&
         (arguments == least + displacements_ || arguments == most + displacements_);
}

bool CollectiveLayout::has_displacements_of_each(std::int64_t arguments) const {
  if (displacements_of_each_ == 0 || !has_roles_) return false;
  const std::int64_t without = arguments - displacements_of_each_;
  // With one rank, as many arguments may be types.
  if (arguments <= counts_ + types_) return false;
  return without == counts_ || without == counts_ + types_;
}

ArgumentRole CollectiveLayout::role(std::int64_t index, std::int64_t arguments) const {
  if (has_displacements_of_each(arguments)) {
    // A number, a vector, its displacements; the same again; then the types.
    const std::int64_t part = 1 + 2 * vector_;
    if (index >= counts_ + displacements_of_each_) return ArgumentRole::type;
    return index % part > vector_ ? ArgumentRole::displacement : ArgumentRole::count;
  }
  if (index < neighbours_ && index != 0 && index != 1 + destinations_) {
    return ArgumentRole::neighbour;
  }
  if (index < counts_) return ArgumentRole::count;
  index -= counts_;
  arguments -= counts_;
  if (index < flops_) return ArgumentRole::flops;
  index -= flops_;
  arguments -= flops_;
  if (index < roots_) return ArgumentRole::root;
  index -= roots_;
  arguments -= roots_;
  // Displacements may come alone or after types.
  const std::int64_t types = arguments <= types_ ? arguments : arguments - displacements_;
  return index < types ? ArgumentRole::type : ArgumentRole::displacement;
}

namespace {

constexpr double kMaxExactInteger = 0x1.0p53;  // largest exact integer range of a double

bool is_whole(double value) {
  return std::abs(value) <= kMaxExactInteger && value == std::floor(value);
}

// Call::arguments excludes the flops of all operations except reducescatter.
bool lacks_flops(Operation operation) {
  const CollectiveGrammar& grammar = grammar_of(operation);
  return grammar.flops > 0 && grammar.vectors == 0;
}

bool has_right_number(const Call& call, const CollectiveLayout& layout) {
  const std::size_t in_line = call.arguments.size() + (lacks_flops(call.operation) ? 1 : 0);
  return layout.accepts(static_cast<std::int64_t>(in_line));
}

// Calls `take(role, value)` for each argument, until it returns false.
template <class Take>
bool take_arguments(const Call& call, const CollectiveLayout& layout, Take take) {
  const bool lacks = lacks_flops(call.operation);
  const auto in_line = static_cast<std::int64_t>(call.arguments.size()) + (lacks ? 1 : 0);
  std::size_t taken = 0;
  for (std::int64_t i = 0; i < in_line; ++i) {
    const ArgumentRole role = layout.role(i, in_line);
    if (role == ArgumentRole::flops && lacks) continue;
    if (!take(role, call.arguments[taken++])) return false;
  }
  return true;
}

bool is_good(ArgumentRole role, double value, std::int64_t size) {
  switch (role) {
    case ArgumentRole::count:
      return value >= 0 && is_whole(value);
    case ArgumentRole::flops:
      return value >= 0 && std::isfinite(value);
    case ArgumentRole::root:
      return value >= 0 && value < static_cast<double>(size) && is_whole(value);
    case ArgumentRole::type:
      return is_whole(value) && type_width(static_cast<std::int64_t>(value)) != kNoType;
    case ArgumentRole::displacement:
      return is_whole(value);
    case ArgumentRole::neighbour:
      return value == kProcNull ||
             (value >= 0 && value < static_cast<double>(size) && is_whole(value));
  }
  return false;
}

std::string written(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string error_of(ArgumentRole role, double value, std::int64_t size) {
  switch (role) {
    case ArgumentRole::count:
      return value < 0 ? "a count cannot be negative, got " + written(value)
                       : "a count must be a whole number up to 2^53, got " + written(value);
    case ArgumentRole::flops:
      return "flops cannot be negative, got " + written(value);
    case ArgumentRole::root:
      return "root " + written(value) + " is not a rank of a communicator of " +
             std::to_string(size) + " ranks; give one from 0 to " + std::to_string(size - 1);
    case ArgumentRole::type:
      return "no type " + written(value) + "; types are numbered from -1 to 59";
    case ArgumentRole::displacement:
      return "a displacement must be a whole number, got " + written(value);
    case ArgumentRole::neighbour:
      return "neighbour " + written(value) + " is not a rank of a communicator of " +
             std::to_string(size) + " ranks; give one from 0 to " + std::to_string(size - 1) +
             ", or -666 for none";
  }
  return {};
}

}  // namespace

bool is_rooted(Operation operation) {
  return is_collective(operation) && grammar_of(operation).roots > 0;
}

CollectiveCall::CollectiveCall(const Call& call, std::int64_t size) : operation(call.operation) {
  if (!is_collective(operation)) return;
  const CollectiveLayout layout(call, size);
  if (!has_right_number(call, layout)) return;
  std::int64_t widths[2];
  std::size_t types = 0;
  fits = take_arguments(call, layout, [&](ArgumentRole role, double value) {
    if (!is_good(role, value, size)) return false;
    if (role == ArgumentRole::root) root = static_cast<std::int64_t>(value);
    if (role == ArgumentRole::flops) flops = value;
    if (role == ArgumentRole::type && types < 2) {
      widths[types++] = type_width(static_cast<std::int64_t>(value));
    }
    return true;
  });
  if (!fits) {
    root = 0;
    flops = 0;
    return;
  }
  const CollectiveGrammar& grammar = grammar_of(operation);
  const std::int64_t usual = call.double_default ? kDoubleWidth : kByteWidth;
  send_width = types > 0 ? widths[0] : usual;
  receive_width = grammar.types < 2 ? send_width : types > 1 ? widths[1] : usual;
  const std::span<const double> arguments(call.arguments);
  if (grammar.neighbours) {
    const auto out = static_cast<std::size_t>(layout.destinations());
    const auto in = static_cast<std::size_t>(layout.sources());
    destinations = arguments.subspan(1, out);
    sources = arguments.subspan(2 + out, in);
    const auto rest = arguments.subspan(2 + out + in);
    if (grammar.send_count.exists()) send_count = static_cast<std::int64_t>(rest[0]);
    if (grammar.receive_count.exists()) receive_count = static_cast<std::int64_t>(rest[1]);
    const std::size_t singles = static_cast<std::size_t>(grammar.numbers);
    if (grammar.send_counts.exists()) send_counts = rest.subspan(singles, out);
    if (grammar.receive_counts.exists()) {
      receive_counts = rest.subspan(singles + send_counts.size(), in);
    }
    return;
  }
  const bool displaced =
      layout.has_displacements_of_each(static_cast<std::int64_t>(arguments.size()));
  const auto number = [&](const CountPosition& place) {
    return place.exists() ? static_cast<std::int64_t>(arguments[place.index(size, displaced)]) : 0;
  };
  const auto vector = [&](const CountPosition& place) {
    return place.exists()
               ? arguments.subspan(place.index(size, displaced), static_cast<std::size_t>(size))
               : std::span<const double>{};
  };
  send_count = number(grammar.send_count);
  receive_count = number(grammar.receive_count);
  send_counts = vector(grammar.send_counts);
  receive_counts = vector(grammar.receive_counts);
}

std::int64_t CollectiveCall::bytes_to(std::size_t destination) const {
  if (send_counts.empty()) return send_bytes();
  return static_cast<std::int64_t>(send_counts[destination]) * send_width;
}

std::int64_t CollectiveCall::bytes_from(std::size_t source) const {
  if (receive_counts.empty()) return receive_bytes();
  return static_cast<std::int64_t>(receive_counts[source]) * receive_width;
}

std::int64_t CollectiveCall::bytes_to_neighbours() const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    if (destinations[i] != kProcNull) bytes += bytes_to(i);
  }
  return bytes;
}

std::int64_t CollectiveCall::bytes_from_neighbours() const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] != kProcNull) bytes += bytes_from(i);
  }
  return bytes;
}

std::string explain_misfit(const Call& call, Kind kind, std::int64_t size) {
  const std::string name(name_of(kind, call.operation));
  const CollectiveLayout layout(call, size);
  if (!has_right_number(call, layout)) {
    const std::size_t arguments =
        call.arguments.size() + (lacks_flops(call.operation) ? 1 : 0);  // as in a line
    return name + " needs " + std::string(traits_of(call.operation).usage) + ", got " +
           std::to_string(arguments) + (arguments == 1 ? " argument" : " arguments") + " (P is " +
           std::to_string(size) + ", the ranks of the communicator)";
  }
  std::string error;
  take_arguments(call, layout, [&](ArgumentRole role, double value) {
    if (is_good(role, value, size)) return true;
    error = error_of(role, value, size);
    return false;
  });
  return name + ": " + error;
}

}  // namespace tisim
