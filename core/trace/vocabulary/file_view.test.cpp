#include "trace/vocabulary/file_view.hpp"

#include <cstdint>
#include <random>
#include <vector>

#include "core/test.hpp"

namespace tisim {

namespace {

// The bytes of a file that a view shows, one by one, by counting the blocks of all levels.
std::vector<std::int64_t> shown(const std::vector<double>& numbers, std::int64_t turns) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(numbers[1]); ++i) places.push_back(i);
  const auto repeat = [&places](std::int64_t count, std::int64_t distance) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const std::int64_t place : places) all.push_back(i * distance + place);
    }
    places = all;
  };
  for (std::size_t i = 2; i + 1 < numbers.size(); i += 2) {
    repeat(static_cast<std::int64_t>(numbers[i]), static_cast<std::int64_t>(numbers[i + 1]));
  }
  repeat(turns, static_cast<std::int64_t>(numbers.back()));
  for (std::int64_t& place : places) place += static_cast<std::int64_t>(numbers[0]);
  return places;
}

}  // namespace

TEST("file view: random views show the bytes that counting finds") {
  std::mt19937 random(7);
  const auto draw = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> numbers{static_cast<double>(draw(0, 20)), static_cast<double>(draw(1, 5))};
    double span = numbers[1];
    for (int level = draw(0, 3); level > 0; --level) {
      const int count = draw(1, 4);
      const double distance = span + draw(0, 3) * draw(0, 4);
      numbers.push_back(count);
      numbers.push_back(distance);
      span += (count - 1) * distance;
    }
    numbers.push_back(span + draw(0, 3) * draw(0, 4));
    CHECK(FileView::fault(numbers).empty());
    const FileView view(numbers);
    const std::vector<std::int64_t> places = shown(numbers, 3);
    const auto size = static_cast<std::int64_t>(places.size());
    for (std::int64_t i = 0; i < size; ++i) {
      CHECK(view.place(i) == places[static_cast<std::size_t>(i)]);
      CHECK(view.position_before(places[static_cast<std::size_t>(i)]) == i);
      CHECK(view.position_before(places[static_cast<std::size_t>(i)] + 1) == i + 1);
    }
    const std::int64_t first = draw(0, static_cast<int>(size) - 1);
    std::int64_t at = first;
    std::int64_t behind = -1;
    view.for_each_piece(first, size - first, [&](std::int64_t offset, std::int64_t bytes) {
      CHECK(offset != behind);  // else it were one piece with the last
      for (std::int64_t i = 0; i < bytes; ++i) {
        CHECK(offset + i == places[static_cast<std::size_t>(at++)]);
      }
      behind = offset + bytes;
    });
    CHECK(at == size);
    CHECK(view.end(first, size - first) == places.back() + 1);
  }
}

TEST("file view: numbers that do not fit") {
  const auto says = [](const std::vector<double>& numbers, std::string_view part) {
    return FileView::fault(numbers).find(part) != std::string::npos;
  };
  CHECK(says({0, 4}, "a displacement"));
  CHECK(says({0, 4, 2, 8}, "a displacement"));
  CHECK(says({0, 0, 8}, "no bytes"));
  CHECK(says({0, 4, 0, 8, 16}, "no blocks"));
  CHECK(says({0, 9, 8}, "blocks of 9 bytes that begin every 8 bytes overlap"));
  CHECK(says({0, 4, 3, 8, 19}, "overlap"));
  CHECK(FileView::fault(std::vector<double>{0, 4, 3, 8, 20}).empty());
  const std::vector<double> wide{0, 1, 9e15};
  CHECK(FileView(wide).place(std::int64_t{1} << 40) == FileView::kBeyond);
}

}  // namespace tisim
