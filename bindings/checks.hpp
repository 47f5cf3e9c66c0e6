// Checks of what Python hands over. The core trusts its callers: every index and every number is
// checked here before it crosses the border.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "simulation/simulation.hpp"

namespace tisim {

// Each of these throws std::out_of_range, an IndexError of Python, unless there is such a `what`.
void check_index(std::int64_t index, std::size_t count, std::string_view what);
const Rank& checked_rank(const Simulation& simulation, std::int32_t rank);
const Job& checked_job(const Simulation& simulation, std::int32_t job);
const Communicator& checked_communicator(const Simulation& simulation, std::int32_t comm);
void check_host(const Simulation& simulation, std::int32_t host);

// Throw std::invalid_argument, a ValueError of Python.
// `amount`: not negative and finite. `bytes`: a whole number too, at most 2^53.
void check_amount(double amount, std::string_view what);
std::int64_t checked_bytes(double bytes);
// Not NaN.
void check_time(double seconds, std::string_view what);

// Raises tisim.errors.InputError with a message.
[[noreturn]] void raise_input_error(const std::string& message);

}  // namespace tisim
