#include "checks.hpp"

#include <nanobind/nanobind.h>

#include <cmath>
#include <stdexcept>

#include "mpi/schedule_check.hpp"

namespace nb = nanobind;

namespace tisim {

void check_index(std::int64_t index, std::size_t count, std::string_view what) {
  if (index >= 0 && static_cast<std::size_t>(index) < count) return;
  std::string message = "there is no ";
  message.append(what).append(" ").append(std::to_string(index)).append("; there are ");
  throw std::out_of_range(message.append(std::to_string(count)).append(", numbered from 0"));
}

const Rank& checked_rank(const Simulation& simulation, std::int32_t rank) {
  check_index(rank, simulation.ranks().size(), "rank");
  return simulation.ranks()[static_cast<std::size_t>(rank)];
}

const Job& checked_job(const Simulation& simulation, std::int32_t job) {
  check_index(job, static_cast<std::size_t>(simulation.job_count()), "job");
  return simulation.job(job);
}

const Communicator& checked_communicator(const Simulation& simulation, std::int32_t comm) {
  check_index(comm, static_cast<std::size_t>(simulation.communicator_count()), "communicator");
  return simulation.communicator(comm);
}

void check_host(const Simulation& simulation, std::int32_t host) {
  check_index(host, simulation.platform().host_speed.size(), "host");
}

void check_amount(double amount, std::string_view what) {
  if (amount >= 0 && std::isfinite(amount)) return;
  throw std::invalid_argument(std::string(what)
                                  .append(" must be finite and not negative, not ")
                                  .append(std::to_string(amount)));
}

std::int64_t checked_bytes(double bytes) {
  check_amount(bytes, "a number of bytes");
  if (bytes != std::floor(bytes) || bytes > kMaxMessageBytes) {
    throw std::invalid_argument("a number of bytes must be whole and at most 2^53, not " +
                                std::to_string(bytes));
  }
  return static_cast<std::int64_t>(bytes);
}

void check_time(double seconds, std::string_view what) {
  if (std::isnan(seconds))
    throw std::invalid_argument(std::string(what).append(" is not a number"));
}

void raise_input_error(const std::string& message) {
  const nb::object type = nb::module_::import_("tisim.errors").attr("InputError");
  const nb::object raised = type(nb::str(message.data(), message.size()));
  PyErr_SetObject(type.ptr(), raised.ptr());
  throw nb::python_error();
}

}  // namespace tisim
