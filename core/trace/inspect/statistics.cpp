#include "trace/inspect/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace tisim {

void Distribution::take(double value, std::uint64_t times) {
  if (times == 0) return;
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  count += times;
  sum += value * static_cast<double>(times);
  std::size_t bin = 0;
  if (value >= 1) {
    int exponent = 0;
    std::frexp(value, &exponent);  // value < 2^exponent
    bin = std::min(static_cast<std::size_t>(exponent), kBins - 1);
  }
  histogram[bin] += times;
}

void Statistics::count_call(std::size_t site, const CallMeaning& meaning, std::uint64_t times) {
  switch (meaning.role) {
    case CallMeaning::Role::comment:
      comments_ += times;
      return;
    case CallMeaning::Role::computation:
      count_computations(times);
      return;
    case CallMeaning::Role::unreadable:
      unreadable_ += times;
      break;
    case CallMeaning::Role::action:
      break;
  }
  actions_[meaning.action].actions += times;
  sites_[site].calls += times;
}

void Statistics::measure_call(std::size_t site, const CallMeaning& meaning, std::uint64_t times) {
  if (meaning.role != CallMeaning::Role::action) return;
  ActionTotal& total = actions_[meaning.action];
  total.amount += meaning.amount * static_cast<double>(times);
  if (meaning.sends) {
    total.messages += times;
    total.bytes += static_cast<std::uint64_t>(meaning.size) * times;
  }
  if (meaning.has_size) sites_[site].bytes.take(static_cast<double>(meaning.size), times);
}

}  // namespace tisim
