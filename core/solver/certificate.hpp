// Verifies that shares are a max-min solution of a system, without solving it.
//
// Shares are max-min fair if they are feasible and each variable is at its limit or has a saturated
// constraint on which no other variable has a higher level (Bertsekas and Gallager 1992, 6.5.2). As
// in progressive filling, a constraint counts as saturated for the remaining variables once those
// with lower levels use all but `precision` of its capacity; it then constrains none of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solver/system.hpp"
#include "solver/tolerances.hpp"

namespace tisim::max_min {

class Certificate {
 public:
  // `shares`: of one flow per variable. `tolerance`: relative deviation of capacities.
  Certificate(const System& system, const std::vector<double>& shares, double precision,
              double tolerance)
      : system_(system),
        shares_(shares),
        precision_(precision),
        more_(1 + tolerance + tolerance::kVerified),
        less_(1 - tolerance - tolerance::kVerified) {}

  // Throws BrokenInvariant naming the constraint or variable that violates it.
  void check();

 private:
  struct Use {
    double level;  // bytes
    double used;   // bytes/s, by all flows of a variable
    double usage;  // 1/s, weight * priority of all its flows
  };

  double share(std::int32_t variable) const { return shares_[static_cast<std::size_t>(variable)]; }
  double level(std::int32_t variable) const;
  double saturation_level(std::int32_t constraint);
  double saturation_level_of_pipe(std::int32_t constraint);
  void check_variable(std::int32_t variable) const;

  const System& system_;
  const std::vector<double>& shares_;
  double precision_;
  double more_, less_;                     // factors between which values count as equal
  std::vector<double> saturation_levels_;  // by constraint; kNotSaturated: none
  std::vector<Use> uses_;                  // uses of the current constraint
};

}  // namespace tisim::max_min
