// Compiled platforms and model parameters: what Python hands over once.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>

#include "bindings.hpp"
#include "platform/model.hpp"
#include "platform/routes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tisim {

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> copy(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}

void make_platform(PlatformData* self, const Array<double>& host_speed,
                   const Array<std::int32_t>& host_cores, const Array<std::int32_t>& host_overheads,
                   const Array<double>& link_bandwidth, const Array<double>& link_latency,
                   const Array<std::uint8_t>& link_fatpipe,
                   const Array<std::int64_t>& segment_offset,
                   const Array<std::int32_t>& segment_links, const Array<double>& segment_latency,
                   const Array<std::int32_t>& host_group, const Array<std::int32_t>& host_up,
                   const Array<std::int32_t>& host_down, const Array<std::int32_t>& host_loopback,
                   const Array<std::int32_t>& pair_first, const Array<std::int32_t>& pair_second,
                   const Array<std::int32_t>& pair_segment,
                   const std::vector<ResourceProfile>& profiles) {
  const std::size_t hosts = host_speed.size();
  for (const std::size_t size : {host_cores.size(), host_group.size(), host_up.size(),
                                 host_down.size(), host_loopback.size()}) {
    if (size != hosts) throw std::invalid_argument("arrays of hosts differ in length");
  }
  auto data = std::make_unique<PlatformData>();
  data->host_speed = copy(host_speed);
  data->host_cores = copy(host_cores);
  data->host_overheads = copy(host_overheads);
  data->link_bandwidth = copy(link_bandwidth);
  data->link_latency = copy(link_latency);
  data->link_fatpipe = copy(link_fatpipe);
  data->segment_offset = copy(segment_offset);
  data->segment_links = copy(segment_links);
  data->segment_latency = copy(segment_latency);
  data->host_group = copy(host_group);
  data->host_up = copy(host_up);
  data->host_down = copy(host_down);
  data->host_loopback = copy(host_loopback);
  for (std::size_t i = 0; i < pair_first.size(); ++i) {
    data->middle.emplace(PlatformData::key(pair_first.data()[i], pair_second.data()[i]),
                         pair_segment.data()[i]);
  }
  data->profiles = profiles;
  new (self) PlatformData(std::move(*data));
}

// Reads each field from the keyword of its name; the core has no defaults.
void make_model(Model* self, const nb::kwargs& values) {
  Model model;
  std::size_t known = 0;
  for_each_field(model, [&](const char* name, auto& field) {
    if (!values.contains(name)) {
      throw nb::type_error((std::string("Model needs the keyword ") + name).c_str());
    }
    ++known;
    if (!nb::try_cast(values[name], field)) {
      throw nb::type_error((std::string("Model has no field ") + name + " of that type").c_str());
    }
  });
  if (values.size() != known)
    throw nb::type_error("Model has a keyword that is none of its fields");
  check(model);
  new (self) Model(std::move(model));
}

nb::object model_field(const Model& self, const std::string& wanted) {
  nb::object value;
  for_each_field(self, [&](const char* name, const auto& field) {
    if (wanted == name) value = nb::cast(field);
  });
  if (!value.is_valid()) throw nb::attribute_error(wanted.c_str());
  return value;
}

nb::tuple model_fields() {
  nb::list names;
  Model model;
  for_each_field(model, [&](const char* name, auto&) { names.append(name); });
  return nb::tuple(names);
}

}  // namespace

void register_platform(nb::module_& m) {
  nb::enum_<Quantity>(m, "Quantity", "What a profile changes.")
      .value("SPEED", Quantity::speed)
      .value("BANDWIDTH", Quantity::bandwidth)
      .value("LATENCY", Quantity::latency)
      .value("STATE", Quantity::state);

  nb::class_<ResourceProfile>(m, "ResourceProfile",
                              "How one quantity of a host or link changes with time.")
      .def(
          "__init__",
          [](ResourceProfile* self, bool is_link, std::int32_t index, Quantity what, double period,
             std::vector<double> times, std::vector<double> values) {
            if (times.empty() || times.size() != values.size()) {
              throw std::invalid_argument("a profile has as many dates as values, at least one");
            }
            new (self)
                ResourceProfile{is_link, index, what, period, std::move(times), std::move(values)};
          },
          "is_link"_a, "index"_a, "what"_a, "period"_a, "times"_a, "values"_a);

  nb::class_<PlatformData>(m, "PlatformData", "Arrays of a compiled platform.")
      .def("__init__", &make_platform, "host_speed"_a, "host_cores"_a, "host_overheads"_a,
           "link_bandwidth"_a, "link_latency"_a, "link_fatpipe"_a, "segment_offset"_a,
           "segment_links"_a, "segment_latency"_a, "host_group"_a, "host_up"_a, "host_down"_a,
           "host_loopback"_a, "pair_first"_a, "pair_second"_a, "pair_segment"_a, "profiles"_a)
      .def_prop_ro("hosts", [](const PlatformData& p) { return p.host_speed.size(); })
      .def_prop_ro("links", [](const PlatformData& p) { return p.link_bandwidth.size(); });

  nb::class_<StepTable>(m, "StepTable", "A factor that changes with the size of a message.")
      .def("__init__",
           [](StepTable* self, double first, std::vector<double> boundary,
              std::vector<double> value) {
             new (self) StepTable{first, std::move(boundary), std::move(value)};
           })
      .def("at", &StepTable::at);

  nb::class_<OverheadTable>(m, "OverheadTable", "Seconds a call injects, by size.")
      .def("__init__",
           [](OverheadTable* self, std::vector<double> boundary, std::vector<double> base,
              std::vector<double> per_byte) {
             new (self) OverheadTable{std::move(boundary), std::move(base), std::move(per_byte)};
           })
      .def("at", &OverheadTable::at);

  nb::class_<Overheads>(m, "Overheads", "The three overheads of a host.")
      .def("__init__", [](Overheads* self, const OverheadTable& send, const OverheadTable& isend,
                          const OverheadTable& receive) {
        new (self) Overheads{send, isend, receive};
      });

  nb::class_<Model>(m, "Model",
                    "Parameters of the network, CPU and protocol models: one keyword a field.")
      .def("__init__", &make_model, nb::sig("def __init__(self, **kwargs: object) -> None"))
      .def("__getattr__", &model_field)
      .def_static("fields", &model_fields, nb::sig("def fields() -> tuple[str, ...]"),
                  "The names of all fields.");
}

}  // namespace tisim
