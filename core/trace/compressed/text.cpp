#include "trace/compressed/text.hpp"

#include "trace/tit/codec/numbers.hpp"
#include "trace/tit/file/volume_code.hpp"

namespace tisim {

CompressedText::CompressedText(const CompressedFile& file, std::int32_t rank)
    : file_(&file),
      program_(&file.program(file.class_of(rank))),
      rank_(rank),
      position_(file.position_of(rank)),
      prefix_(std::to_string(rank) + " "),
      expansion_(program_->rank_class().grammar),
      column_(file, file.column_of(rank)),
      templates_(program_->rank_class().signatures.size()),
      has_columns_(program_->rank_class().has_volumes) {}

void CompressedText::make(std::uint32_t call, Template& made) const {
  const tit::TraceTables& tables = file_->tables();
  const std::uint32_t number = program_->rank_class().signatures[call];
  const tit::Signature& signature = tables.signatures[number];
  const tit::Shape& shape = tables.shapes[signature.shape];
  made.is_made = true;
  made.is_silent = signature.shape == tit::kSilentShape;
  made.kind = tables.kinds[number];
  program_->numbers(call, position_, made.numbers);
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    if (signature.arguments[i].mode == tit::Mode::column) made.has_columns = true;
    if (shape.holes[i].mark == tit::kStepMark) {
      made.step = static_cast<std::uint64_t>(made.numbers[i]);
    }
  }
  if (made.has_columns || made.is_silent) return;
  if (shape.text.empty() || shape.text.front() != tit::kNoRankMark) made.text = prefix_;
  tit::append_text(shape.text, made.numbers.data(), made.text);
}

std::uint64_t CompressedText::value_at(std::uint32_t site) {
  const CompressedFile::Site& found = file_->site(site);
  return found.varies ? column_.next(found.model) : found.value;
}

void CompressedText::append_call(Template& call, std::string& out) {
  if (!call.has_columns) {
    out += call.text;
    number_ += call.step;
    return;
  }
  const tit::TraceTables& tables = file_->tables();
  const auto place = static_cast<std::uint32_t>(&call - templates_.data());
  const tit::Signature& signature = tables.signatures[program_->rank_class().signatures[place]];
  const tit::Shape& shape = tables.shapes[signature.shape];
  std::uint64_t step = 1;
  std::uint32_t site = site_;
  for (std::size_t i = 0; i < signature.arguments.size(); ++i) {
    if (signature.arguments[i].mode == tit::Mode::column) {
      call.numbers[i] = file_->argument_of(shape.holes[i], value_at(++site));
    }
    if (shape.holes[i].mark == tit::kStepMark) step = static_cast<std::uint64_t>(call.numbers[i]);
  }
  if (shape.text.empty() || shape.text.front() != tit::kNoRankMark) out += prefix_;
  tit::append_text(shape.text, call.numbers.data(), out);
  number_ += step;
}

bool CompressedText::next(std::string& out) {
  if (waiting_ != nullptr) {
    append_call(*waiting_, out);
    waiting_ = nullptr;
    return true;
  }
  std::uint32_t call = 0;
  while (expansion_.next(call)) {
    Template& made = templates_[call];
    if (!made.is_made) make(call, made);
    std::uint64_t volume = 0;
    if (has_columns_ || made.has_columns) {
      site_ = file_->site_table().find(before_, made.kind);
      if (site_ == tit::SiteTable::kNone) {
        if (made.has_columns) file_->damaged("a call has no place for its values");
      } else if (has_columns_) {
        volume =
            file_->draws_volumes() ? file_->drawn_volume(site_, rank_, calls_) : value_at(site_);
      }
    }
    before_ = made.kind + 1;
    ++calls_;
    if (volume == 0 && made.is_silent) continue;
    if (volume == 0) {
      append_call(made, out);
      return true;
    }
    out.append(prefix_).append("compute ");
    tit::append_volume(file_->volume_of(volume - 1), out);
    ++number_;
    if (!made.is_silent) waiting_ = &made;
    return true;
  }
  return false;
}

}  // namespace tisim
