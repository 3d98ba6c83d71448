#include "tutti/train/mirrored_strategy.h"

#include <algorithm>
#include <atomic>
#include <span>

#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/exec/stream.h"
#include "tutti/exec/transfer.h"
#include "tutti/mesh/collectives.h"
#include "tutti/mesh/local_devices.h"
#include "tutti/mesh/reductions.h"
#include "tutti/mesh/world.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/variable_cell.h"

namespace tutti {

struct MirroredStrategy::State {
  Mesh mesh;
  std::vector<std::string> names;
  std::vector<Stream> beside;  // for reductions, one on each device; none where there is nothing to reduce
  MirroredOptions options;
  Site site;
  std::uint64_t blocks_before = 0;  // of the replicas here, in a draw

  [[nodiscard]] std::span<LogicalDevice* const> devices() const { return mesh.local_devices(); }
  [[nodiscard]] const std::string& dim() const { return mesh.dims().front().name; }
};

namespace {

void refuse_inside_run(const char* what, Site site) {
  if (detail::thread_state.replica == nullptr) return;
  throw InvalidState(text(what, " was called for replica ", detail::thread_state.replica->index,
                          " of a MirroredStrategy, inside its run(); call it outside, where the replicas are together"),
                     site);
}

std::vector<std::string> default_devices(Site site) {
  const auto all = runtime(site).devices();
  std::vector<std::string> out;
  for (LogicalDevice* device : all) {
    if (device->type() == all.front()->type()) out.push_back(device->name());
  }
  return out;
}

Mesh mesh_of(const std::vector<std::string>& devices, Site site) {
  if (devices.empty())
    throw InvalidArgument("MirroredStrategy: the list of devices is empty; leave it out for every GPU, or name at least one",
                          site);
  std::vector<const LogicalDevice*> found;
  for (const std::string& name : devices) {
    const LogicalDevice& device = find_device(name, site);
    if (std::find(found.begin(), found.end(), &device) != found.end()) {
      throw InvalidArgument(text("MirroredStrategy: No duplicates allowed in `devices` argument: ", printable(name), " is ",
                                 device.name(), " again"),
                            site);
    }
    found.push_back(&device);
  }
  return create_mesh({{"replica", -1}}, devices, {}, site);
}

// As TensorFlow, and so Python, has a tuple.
std::string tuple_of(const std::vector<std::string>& names) {
  std::string out = "(";
  for (const std::string& name : names) out += text(out.size() == 1 ? "'" : ", '", name, "'");
  return out + (names.size() == 1 ? ",)" : ")");
}

std::size_t bytes_of(const Tensor& x) { return static_cast<std::size_t>(x.size()) * size_of(x.dtype()); }

// Tensors that are reduced as one: their places in the list.
struct Bucket {
  DType dtype;
  std::vector<std::size_t> members = {};
  std::size_t bytes = 0;
};

// The last first: a backward pass ends with what the forward pass began with. `limit` 0: none.
std::vector<Bucket> buckets_of(const std::vector<Tensor>& list, std::size_t limit) {
  std::vector<Bucket> out;
  for (std::size_t i = list.size(); i-- > 0;) {
    const DType dtype = list[i].dtype();
    auto open = std::find_if(out.rbegin(), out.rend(), [&](const Bucket& each) { return each.dtype == dtype; });
    if (open == out.rend() || (limit != 0 && open->bytes + bytes_of(list[i]) > limit)) {
      out.push_back({dtype});
      open = out.rbegin();
    }
    open->members.push_back(i);
    open->bytes += bytes_of(list[i]);
  }
  return out;
}

// One bucket for all floating dtypes, in the widest of them, so that one exchange takes them.
std::vector<Bucket> joined(std::vector<Bucket> buckets) {
  std::vector<Bucket> out;
  for (Bucket& each : buckets) {
    if (out.empty() || !is_floating(each.dtype) || !is_floating(out.front().dtype)) {
      out.insert(is_floating(each.dtype) ? out.begin() : out.end(), std::move(each));
      continue;
    }
    Bucket& all = out.front();
    all.dtype = promote(all.dtype, each.dtype);
    all.members.insert(all.members.end(), each.members.begin(), each.members.end());
  }
  return out;
}

Tensor packed(const std::vector<Tensor>& list, const Bucket& bucket, Site site) {
  const auto one = [&](std::size_t i) { return cast(list[i], bucket.dtype, site); };
  if (bucket.members.size() == 1) return one(bucket.members.front());
  std::vector<Tensor> parts;
  for (const std::size_t i : bucket.members) parts.push_back(reshape(one(i), {-1}, site));
  return concat(parts, 0, site);
}

// Into the places of its members, with the shapes and dtypes of the list.
void unpack_into(std::vector<Tensor>& out, const Tensor& all, const std::vector<Tensor>& list, const Bucket& bucket, Site site) {
  std::int64_t begin = 0;
  for (const std::size_t i : bucket.members) {
    const Tensor& like = list[i];
    const bool is_alone = bucket.members.size() == 1;
    const Tensor part = is_alone ? all : reshape(slice(all, 0, {begin, begin + like.size()}, site), like.shape(), site);
    out[i] = cast(part, like.dtype(), site);
    begin += like.size();
  }
}

// Scopes of all of these; they are left in reverse order.
class OnStreams {
 public:
  OnStreams(const std::vector<Stream>& streams, Site site) {
    for (const Stream& stream : streams) scopes_.push_back(std::make_unique<StreamScope>(stream, site));
  }
  ~OnStreams() {
    while (!scopes_.empty()) scopes_.pop_back();
  }
  OnStreams(const OnStreams&) = delete;
  OnStreams& operator=(const OnStreams&) = delete;

 private:
  std::vector<std::unique_ptr<StreamScope>> scopes_;
};

void check_alike(const PerReplica<std::vector<Tensor>>& lists, Site site) {
  for (std::size_t r = 1; r < lists.size(); ++r) {
    if (lists[r].size() != lists[0].size()) {
      throw InvalidArgument(text("all_reduce: replica 0 brings ", lists[0].size(), " tensors and replica ", r, " brings ",
                                 lists[r].size(), "; all must bring as many"),
                            site);
    }
    for (std::size_t i = 0; i < lists[r].size(); ++i) {
      const Tensor& mine = lists[r][i];
      const Tensor& first = lists[0][i];
      if (mine.shape(site) == first.shape(site) && mine.dtype() == first.dtype()) continue;
      throw ShapeError(
          text("all_reduce: tensor ", i, " of replica 0 is ", to_string(first.dtype()), " ", to_string(first.shape()),
               " and that of replica ", r, " is ", to_string(mine.dtype()), " ", to_string(mine.shape())),
          site);
    }
  }
}

}  // namespace

MirroredStrategy::MirroredStrategy(Site site) : MirroredStrategy(default_devices(site), {}, site) {
  static std::atomic<bool> has_told{false};
  if (process_count(site) == 1 || has_told.exchange(true)) return;
  log(LogLevel::warning,
      text("MirroredStrategy(): this is one of ", process_count(site),
           " processes, and each will train a model of its own, on its own devices. One model over all of them: "
           "MirroredStrategy(create_distributed_mesh({{\"replica\", -1}}, {\"",
           mesh().local_devices()[0]->type(), ":0\"}))"));
}

MirroredStrategy::MirroredStrategy(const std::vector<std::string>& devices, const MirroredOptions& options, Site site)
    : MirroredStrategy(mesh_of(devices, site), options, site) {}

MirroredStrategy::MirroredStrategy(const Mesh& mesh, const MirroredOptions& options, Site site) {
  refuse_inside_run("MirroredStrategy", site);
  if (mesh.dims(site).size() != 1) {
    throw InvalidArgument(text("MirroredStrategy: a mesh of one dimension is needed, that of the replicas; this one has ",
                               mesh.dims().size(), "; take a sub_mesh"),
                          site);
  }
  detail::require_local_devices(mesh, "MirroredStrategy", site);
  auto made = std::make_shared<State>(State{.mesh = mesh, .names = {}, .beside = {}, .options = options, .site = site});
  if (!mesh.is_local()) made->blocks_before = static_cast<std::uint64_t>(mesh.client().rank) << 44U;
  for (LogicalDevice* device : made->devices()) {
    made->names.push_back(device->name());
    if (mesh.size() > 1) made->beside.emplace_back(device->name(), StreamOptions{}, site);
  }
  const std::size_t processes = mesh.clients().size();
  log(LogLevel::info, text("Using MirroredStrategy with devices ", tuple_of(made->names),
                           processes == 1 ? std::string() : text(" in one of ", processes, " processes")));
  state_ = std::move(made);
}

std::size_t MirroredStrategy::replicas() const noexcept { return state_->names.size(); }
std::size_t MirroredStrategy::replicas_in_sync() const noexcept { return state_->mesh.size(); }
const std::vector<std::string>& MirroredStrategy::devices() const noexcept { return state_->names; }
const Mesh& MirroredStrategy::mesh() const noexcept { return state_->mesh; }
Site MirroredStrategy::site() const noexcept { return state_->site; }

void MirroredStrategy::check_size(const char* function, std::size_t given, Site site) const {
  if (given == replicas()) return;
  throw InvalidArgument(text(function, ": a PerReplica of ", given, " values was given to a MirroredStrategy of ", replicas(),
                             replicas() == 1 ? " replica" : " replicas", " in this process"),
                        site);
}

// --- Scope ---

struct MirroredStrategy::Scope::Open final : detail::Mirroring {
  Open(std::shared_ptr<const State> of, const detail::Mirroring* outer) : state(std::move(of)), before(outer) {}
  virtual ~Open() = default;

  [[nodiscard]] std::span<LogicalDevice* const> devices() const noexcept override { return state->devices(); }
  [[nodiscard]] Tensor first_value(const Tensor& initial, Site site) const override {
    if (state->mesh.is_local()) return initial;
    return broadcast(std::vector<Tensor>(state->names.size(), initial), state->mesh, state->dim(), 0, site).front();
  }

  std::shared_ptr<const State> state;
  const detail::Mirroring* before;
};

MirroredStrategy::Scope::Scope(const MirroredStrategy& strategy, Site site) {
  refuse_inside_run("MirroredStrategy::Scope", site);
  const detail::Mirroring* const outer = detail::thread_state.mirroring;
  if (outer != nullptr && !std::ranges::equal(outer->devices(), strategy.state_->devices())) {
    throw InvalidState(text("a MirroredStrategy::Scope over ", tuple_of(strategy.devices()),
                            " was opened inside one over other devices; close that one first: a variable has one strategy"),
                       site);
  }
  open_ = std::make_unique<const Open>(strategy.state_, outer);
  detail::thread_state.mirroring = open_.get();
}

MirroredStrategy::Scope::~Scope() { detail::thread_state.mirroring = open_->before; }

// --- run ---

MirroredStrategy::Running::Running(const MirroredStrategy& strategy)
    : was_synchronous_(detail::thread_state.settings.synchronous) {
  refuse_inside_run("MirroredStrategy::run", strategy.site());
  // Else a CPU's work would be done before the next replica's is submitted.
  if (strategy.replicas() > 1) detail::thread_state.settings.synchronous = false;
}

MirroredStrategy::Running::~Running() { detail::thread_state.settings.synchronous = was_synchronous_; }

MirroredStrategy::RunningAs::RunningAs(const MirroredStrategy& strategy, std::size_t index)
    : replica_{.devices = strategy.state_->devices(),
               .index = index,
               .first_cell = VariableCell::next_number(),
               .blocks_before = strategy.state_->blocks_before},
      on_(*replica_.devices[index], strategy.site()) {
  detail::thread_state.replica = &replica_;
}

MirroredStrategy::RunningAs::~RunningAs() { detail::thread_state.replica = nullptr; }

// --- Batches ---

void MirroredStrategy::count_rows(const Tensor& x, std::optional<std::int64_t>& rows, Site site) {
  if (!x.is_defined()) return;
  if (x.shape().empty())
    throw ShapeError("split: a tensor of the batch has no axes, and so no rows to share out; give it to run() as it is", site);
  if (rows && *rows != x.shape()[0]) {
    throw ShapeError(text("split: the tensors of a batch must have as many rows; one has ", *rows, " and another ", x.shape()[0]),
                     site);
  }
  rows = x.shape()[0];
}

Tensor MirroredStrategy::rows_of(const Tensor& x, std::size_t replica, Site site) const {
  refuse_inside_run("MirroredStrategy::split", site);
  if (!x.is_defined()) return x;
  const auto all = static_cast<std::int64_t>(replicas_in_sync());
  const auto at = static_cast<std::int64_t>(state_->mesh.local_positions()[replica]);
  const std::int64_t each = x.shape()[0] / all;
  const std::int64_t more = x.shape()[0] % all;
  const std::int64_t begin = at * each + std::min(at, more);
  const detail::DerivedOrder ordered;
  const Tensor part = slice(x, 0, {begin, begin + each + (at < more ? 1 : 0)}, site);
  return copied(part, *state_->devices()[replica], {.if_elsewhere = true}, site);
}

// --- Reductions ---

Tensor MirroredStrategy::reduce(const PerReplica<Tensor>& values, Reduction reduction, Site site) const {
  refuse_inside_run("MirroredStrategy::reduce", site);
  check_size("reduce", values.size(), site);
  return detail::reduced_on_first(values.values(), state_->mesh, reduction, site);
}

PerReplica<std::vector<Tensor>> MirroredStrategy::all_reduce(const PerReplica<std::vector<Tensor>>& lists, Reduction reduction,
                                                             Site site) const {
  refuse_inside_run("MirroredStrategy::all_reduce", site);
  check_size("all_reduce", lists.size(), site);
  check_alike(lists, site);
  if (replicas_in_sync() == 1) return lists;
  const detail::DerivedOrder ordered;
  const OnStreams beside(state_->beside, site);
  std::vector<std::vector<Tensor>> out(replicas(), std::vector<Tensor>(lists[0].size()));
  const bool is_local = state_->mesh.is_local();
  std::vector<Bucket> buckets = buckets_of(lists[0], is_local ? std::max<std::size_t>(1, state_->options.bucket_bytes) : 0);
  if (!is_local) buckets = joined(std::move(buckets));
  for (const Bucket& bucket : buckets) {
    std::vector<Tensor> mine;
    for (std::size_t r = 0; r < replicas(); ++r)
      mine.push_back(detail::made_on(*state_->devices()[r], site, [&] { return packed(lists[r], bucket, site); }));
    const std::vector<Tensor> all = tutti::all_reduce(mine, state_->mesh, state_->dim(), reduction, site);
    for (std::size_t r = 0; r < replicas(); ++r) {
      const DeviceScope on(*state_->devices()[r], site);
      unpack_into(out[r], all[r], lists[r], bucket, site);
    }
  }
  return PerReplica<std::vector<Tensor>>(std::move(out));
}

}  // namespace tutti
