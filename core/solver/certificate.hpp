// Proves, or refutes, that shares are a max-min solution of a system, without solving it.
//
// Shares are max-min fair if they are feasible, and each variable is at its limit or has a
// saturated constraint on which no other variable has a higher level (Bertsekas and Gallager
// 1992, 6.5.2). As in progressive filling a constraint counts as saturated, for the variables that
// are left, when all but `precision` of its capacity is used by those with lower levels; it holds
// back nobody then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/system.hpp"
#include "solver/tolerances.hpp"

namespace tisim::max_min {

class Certificate {
 public:
  // `shares`: of one flow of each variable. `tolerance`: by which capacities may differ.
  Certificate(const System& system, const std::vector<double>& shares, double precision,
              double tolerance)
      : system_(system),
        shares_(shares),
        precision_(precision),
        more_(1 + tolerance + tolerance::kVerified),
        less_(1 - tolerance - tolerance::kVerified) {}

  // Throws BrokenInvariant with the constraint or the variable that refutes it.
  void check();

 private:
  struct Use {
    double level;  // bytes
    double used;   // bytes/s, of all flows of a variable
    double usage;  // 1/s, weight * priority of all of them
  };

  double share(std::int32_t variable) const { return shares_[static_cast<std::size_t>(variable)]; }
  double level(std::int32_t variable) const;
  double saturation_level(std::int32_t constraint);
  double saturation_level_of_pipe(std::int32_t constraint);
  void check_variable(std::int32_t variable) const;

  const System& system_;
  const std::vector<double>& shares_;
  double precision_;
  double more_, less_;                     // what counts as equal lies between these parts of it
  std::vector<double> saturation_levels_;  // of each constraint, kNotSaturated: none
  std::vector<Use> uses_;                  // of the constraint that is looked at
};

}  // namespace tisim::max_min
