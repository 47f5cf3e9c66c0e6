// Checks of Python's inputs. The core trusts its callers: every index and number is checked here
// before it crosses the border.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "simulation/simulation.hpp"

namespace tisim {

// Each of these throws std::out_of_range, an IndexError in Python, if there is no such `what`.
void check_index(std::int64_t index, std::size_t count, std::string_view what);
const Rank& checked_rank(const Simulation& simulation, std::int32_t rank);
const Job& checked_job(const Simulation& simulation, std::int32_t job);
const Communicator& checked_communicator(const Simulation& simulation, std::int32_t comm);
void check_host(const Simulation& simulation, std::int32_t host);

// Throw std::invalid_argument, a ValueError in Python.
// `amount`: non-negative and finite. `bytes`: also an integer, at most 2^53.
void check_amount(double amount, std::string_view what);
std::int64_t checked_bytes(double bytes);
// Not NaN.
void check_time(double seconds, std::string_view what);

// Raises tisim.errors.InputError with a message.
[[noreturn]] void raise_input_error(const std::string& message);

}  // namespace tisim
