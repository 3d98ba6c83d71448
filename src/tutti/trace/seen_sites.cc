#include "tutti/trace/seen_sites.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <system_error>

#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

namespace {

std::unique_ptr<lint::SeenSource> read_source(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return nullptr;
  if (std::filesystem::file_size(path, failed) > lint::SyntaxTree::most_bytes || failed) return nullptr;
  std::ifstream in(path, std::ios::binary);
  return std::make_unique<lint::SeenSource>(std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
}

}  // namespace

lint::SeenWait seen_wait(const WaitSite& site) {
  const Place& place = site.key.place;
  lint::SeenWait out{.line = place.line, .code = place.source, .expression = place.expression};
  // What a thread slept for is told by the line alone.
  if (site.direction == CopyDirection::none && site.kind != WaitKind::sleep) out.transfer = lint::Transfer::none;
  if (site.direction == CopyDirection::to_host) out.transfer = lint::Transfer::to_host;
  if (site.direction == CopyDirection::to_device) out.transfer = lint::Transfer::to_device;
  return out;
}

void read_sources(std::vector<WaitSite>& sites) {
  std::map<std::string, std::unique_ptr<lint::SeenSource>> files;
  for (WaitSite& site : sites) {
    const Place& place = site.key.place;
    // The line of another thread says nothing of this one's values; loading and memory are asked for by no line of Python.
    const bool is_of_line = site.of_main_thread == 0 && site.kind != WaitKind::loading && site.kind != WaitKind::door;
    if (!place.is_python || place.source.empty() || !is_of_line) continue;
    const auto [file, is_new] = files.try_emplace(place.file);
    if (is_new) file->second = read_source(place.file);
    const lint::SeenWait wait = seen_wait(site);
    const auto take = [&](const lint::SeenSource& source) {
      site.was_read = source.was_parsed();
      if (const lint::Finding* const finding = source.finding_of(wait); finding != nullptr)
        site.rule = lint::rule(finding->rule).name;
      site.use = source.use_of(wait);
    };
    if (file->second != nullptr && lint::line_of(file->second->source(), wait) != 0) take(*file->second);
    if (site.rule.empty() && site.use.use == lint::Use::unknown) take(lint::SeenSource(wait));
  }
}

}  // namespace tutti::tracing
