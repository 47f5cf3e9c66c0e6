// Arrays that cross the Python/C++ border.
#pragma once

#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace tisim {

// A one-dimensional Python array: from numpy, or any other object with a buffer.
template <class T>
using Array =
    nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class T>
std::vector<T> copy(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}

template <class T>
using View = nanobind::ndarray<nanobind::memview, const T, nanobind::ndim<1>>;

// Makes a numpy array that takes ownership of the values.
template <class T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> to_numpy(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()},
                                                                  owner);
}

}  // namespace tisim
