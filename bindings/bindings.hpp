// Every noun of the bindings registers itself on the module `tisim._core`.
#pragma once

#include <nanobind/nanobind.h>

namespace tisim {}  // namespace tisim
