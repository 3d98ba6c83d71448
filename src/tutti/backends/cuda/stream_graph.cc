#include "tutti/hal/stream_graph.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "tutti/backends/cuda/driver.h"
#include "tutti/backends/cuda/stream.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::cuda {

namespace {

// Their differences are no powers of three times this, so a word that changes by one of them holds that value alone. A multiple
// of what kernels ask of an address, so that they choose as before.
constexpr std::uint64_t first_step = 256;
constexpr std::size_t most_values = most_graph_values + 1;  // the last: where the traps are

std::array<std::uint64_t, most_values> steps() {
  std::array<std::uint64_t, most_values> out{};
  std::uint64_t step = first_step;
  for (std::uint64_t& each : out) each = std::exchange(step, step * 3);
  return out;
}

struct DestroyGraph {
  using pointer = CUgraph;
  void operator()(CUgraph graph) const noexcept { driver().cuGraphDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<CUgraph, DestroyGraph>;
struct DestroyExec {
  using pointer = CUgraphExec;
  void operator()(CUgraphExec graph) const noexcept { driver().cuGraphExecDestroy(graph); }
};
using OwnedExec = std::unique_ptr<CUgraphExec, DestroyExec>;

// A kernel of a graph, with its arguments as bytes.
struct Node {
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS kernel{};
  std::vector<std::vector<std::byte>> arguments;
  // A word of an argument that is a value and a constant.
  struct Word {
    std::size_t argument;
    std::size_t at;
    std::size_t value;
    std::uint64_t beside;
  };
  std::vector<Word> words;
};

// A kernel that notes bad input: which call it belongs to, and what it has to say.
struct ArmedTrap {
  std::size_t call;
  DescribeTrap describe;
};

// Gaps between the fields of an argument hold whatever the stack held before.
[[gnu::noinline]] void fill_stack(unsigned char with) noexcept {
  std::array<unsigned char, std::size_t{48} * 1024> below;
  std::memset(below.data(), with, below.size());
  asm volatile("" : : "r"(below.data()) : "memory");  // nobody reads it
}

// Of what a stream has recorded so far; null: none, or several.
CUgraphNode last_node(CUstream stream) {
  CUstreamCaptureStatus status{};
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  const CUresult result = driver().cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, &edges, &count);
  return result == CUDA_SUCCESS && count == 1 ? nodes[0] : nullptr;
}

// The last of the values is the address of the traps.
OwnedGraph record(CudaStream& stream, std::size_t calls, std::span<const std::uint64_t> values, const IssueWith& issue, Site site,
                  std::vector<ArmedTrap>& traps, std::vector<CUgraphNode>* last = nullptr, unsigned char gaps = 0) {
  stream.begin_graph(reinterpret_cast<Trap*>(values.back()), site);
  try {
    for (std::size_t call = 0; call < calls; ++call) {
      fill_stack(gaps);
      issue(call, values.first(values.size() - 1));
      while (traps.size() < stream.graph_traps().size()) traps.push_back({call, stream.graph_traps()[traps.size()]});
      if (last != nullptr) last->push_back(last_node(stream.stream()));
    }
  } catch (...) {
    if (CUgraph half = stream.end_graph()) driver().cuGraphDestroy(half);
    return nullptr;
  }
  return OwnedGraph(stream.end_graph());
}

// False: it has something other than kernels, unless `any_kind`, or arguments that are not told.
bool read_nodes(CUgraph graph, std::vector<Node>& nodes, bool any_kind) {
  const Driver& api = driver();
  std::size_t count = 0;
  if (api.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return false;
  std::vector<CUgraphNode> all(count);
  if (count == 0 || api.cuGraphGetNodes(graph, all.data(), &count) != CUDA_SUCCESS) return false;
  for (CUgraphNode each : all) {
    Node& node = nodes.emplace_back();
    node.node = each;
    CUgraphNodeType type{};
    if (api.cuGraphNodeGetType(each, &type) != CUDA_SUCCESS) return false;
    if (type != CU_GRAPH_NODE_TYPE_KERNEL) {
      if (!any_kind) return false;
      continue;
    }
    if (api.cuGraphKernelNodeGetParams(each, &node.kernel) != CUDA_SUCCESS || node.kernel.kernelParams == nullptr) return false;
    CUfunction function = node.kernel.func;
    if (function == nullptr && api.cuKernelGetFunction(&function, node.kernel.kern) != CUDA_SUCCESS) return false;
    for (std::size_t i = 0;; ++i) {
      std::size_t offset = 0;
      std::size_t bytes = 0;
      if (api.cuFuncGetParamInfo(function, i, &offset, &bytes) != CUDA_SUCCESS) break;
      const auto* from = static_cast<const std::byte*>(node.kernel.kernelParams[i]);
      node.arguments.emplace_back(from, from + bytes);
    }
  }
  return true;
}

bool is_same_launch(const CUDA_KERNEL_NODE_PARAMS& a, const CUDA_KERNEL_NODE_PARAMS& b) {
  return a.func == b.func && a.kern == b.kern && a.gridDimX == b.gridDimX && a.gridDimY == b.gridDimY &&
         a.gridDimZ == b.gridDimZ && a.blockDimX == b.blockDimX && a.blockDimY == b.blockDimY && a.blockDimZ == b.blockDimZ &&
         a.sharedMemBytes == b.sharedMemBytes;
}

bool are_same_launches(const std::vector<Node>& nodes, const std::vector<Node>& others) {
  if (nodes.size() != others.size()) return false;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!is_same_launch(nodes[n].kernel, others[n].kernel) || nodes[n].arguments.size() != others[n].arguments.size())
      return false;
  }
  return true;
}

// Finds out where the values stand, from two records made with different ones. What differs though the values are the same, from
// `same`, is no part of an argument; empty: not known.
bool find_words(std::vector<Node>& nodes, const std::vector<Node>& others, const std::vector<Node>& same,
                std::span<const std::uint64_t> values) {
  static const std::array<std::uint64_t, most_values> by = steps();
  if (!are_same_launches(nodes, others) || (!same.empty() && !are_same_launches(nodes, same))) return false;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    Node& node = nodes[n];
    const Node& other = others[n];
    node.words.clear();
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      const std::vector<std::byte>& bytes = node.arguments[i];
      for (std::size_t at = 0; at < bytes.size(); at += 8) {
        const std::size_t length = std::min<std::size_t>(8, bytes.size() - at);
        if (std::memcmp(&bytes[at], &other.arguments[i][at], length) == 0) continue;
        if (!same.empty() && std::memcmp(&bytes[at], &same[n].arguments[i][at], length) != 0) continue;
        if (length < 8) return false;
        std::uint64_t now = 0;
        std::uint64_t then = 0;
        std::memcpy(&now, &bytes[at], 8);
        std::memcpy(&then, &other.arguments[i][at], 8);
        std::size_t value = 0;
        while (value < values.size() && then - now != by[value]) ++value;
        if (value == values.size()) return false;
        node.words.push_back({i, at, value, now - values[value]});
      }
    }
  }
  return true;
}

struct Recorded {
  OwnedGraph graph;
  std::vector<Node> nodes;
  std::vector<ArmedTrap> traps;
  std::vector<std::uint64_t> values;
  std::vector<CUgraphNode> last;  // by call: the last node when it was issued
};

// Calls that were recorded in a row wait for those they need alone. False: the graph is of no use any more.
bool order_calls(const Recorded& recorded, std::span<const std::vector<std::size_t>> after) {
  const Driver& api = driver();
  struct Edge {
    CUgraphNode from;
    CUgraphNode to;
    CUgraphEdgeData data;
    std::size_t call;
  };
  std::vector<Edge> row;  // from one call to the next
  std::vector<bool> has_nodes(after.size(), false);
  CUgraphNode before = nullptr;
  for (std::size_t call = 0; call < after.size(); ++call) {
    const CUgraphNode last = recorded.last[call];
    if (last == before) continue;
    if (last == nullptr) return false;
    has_nodes[call] = true;
    if (before != nullptr) {
      Edge edge{before, nullptr, {}, call};
      std::size_t count = 1;
      std::size_t all = 0;
      if (api.cuGraphNodeGetDependentNodes(before, nullptr, nullptr, &all) != CUDA_SUCCESS || all != 1 ||
          api.cuGraphNodeGetDependentNodes(before, &edge.to, &edge.data, &count) != CUDA_SUCCESS)
        return false;
      row.push_back(edge);
    }
    before = last;
  }
  for (const Edge& edge : row) {
    if (api.cuGraphRemoveDependencies(recorded.graph.get(), &edge.from, &edge.to, &edge.data, 1) != CUDA_SUCCESS) return false;
    for (const std::size_t earlier : after[edge.call]) {
      if (!has_nodes[earlier]) continue;
      const CUgraphNode from = recorded.last[earlier];
      if (api.cuGraphAddDependencies(recorded.graph.get(), &from, &edge.to, nullptr, 1) != CUDA_SUCCESS) return false;
    }
  }
  return true;
}

// Its kernels, and where the values stand in their arguments. No graph: none can be made of it.
Recorded read(CudaStream& stream, std::size_t calls, std::span<const std::uint64_t> given, const IssueWith& issue, Site site,
              bool any_kind) {
  constexpr std::uint64_t somewhere = std::uint64_t{1} << 40U;  // nothing runs: the traps need no memory yet
  if (given.size() >= most_values) return {};
  Recorded out;
  out.values.assign(given.begin(), given.end());
  out.values.push_back(somewhere);
  OwnedGraph graph = record(stream, calls, out.values, issue, site, out.traps, &out.last);
  if (!graph || !read_nodes(graph.get(), out.nodes, any_kind)) return {};
  std::vector<std::uint64_t> changed = out.values;
  static const std::array<std::uint64_t, most_values> by = steps();
  for (std::size_t i = 0; i < changed.size(); ++i) changed[i] += by[i];
  std::vector<Node> others;
  std::vector<ArmedTrap> their_traps;
  const OwnedGraph other = record(stream, calls, changed, issue, site, their_traps);
  if (!other || !read_nodes(other.get(), others, any_kind)) return {};
  if (!find_words(out.nodes, others, {}, out.values)) {
    std::vector<Node> same;
    const OwnedGraph again = record(stream, calls, out.values, issue, site, their_traps, nullptr, 0xA5);
    if (!again || !read_nodes(again.get(), same, any_kind) || !find_words(out.nodes, others, same, out.values)) return {};
  }
  out.graph = std::move(graph);
  return out;
}

class CudaGraph final : public StreamGraph {
 public:
  CudaGraph(Recorded recorded, OwnedExec exec)
      : graph_(std::move(recorded.graph)),
        exec_(std::move(exec)),
        traps_(std::move(recorded.traps)),
        values_(std::move(recorded.values)) {
    for (Node& node : recorded.nodes) {
      if (!node.words.empty()) changing_.push_back(std::move(node));
    }
  }
  ~CudaGraph() override {
    for (Trap* each : spare_) driver().cuMemFreeHost(each);
  }

  void* launch(DeviceStream& stream, std::span<const std::uint64_t> values, Site site) override {
    Trap* const traps = take_traps(site);
    std::vector<std::uint64_t> all(values.begin(), values.end());
    all.push_back(traps != nullptr ? reinterpret_cast<std::uint64_t>(traps) : values_.back());
    for (Node& node : changing_) update(node, all, site);
    values_ = std::move(all);
    const CUresult result = driver().cuGraphLaunch(exec_.get(), queue_of(stream).stream());
    if (result != CUDA_SUCCESS) {
      if (traps != nullptr) spare_.push_back(traps);
      throw KernelFailed(text("graph launch: ", driver().describe(result)), site);
    }
    return traps;
  }

  std::vector<Complaint> finish(void* launched) override {
    std::vector<Complaint> out;
    if (launched == nullptr) return out;
    auto* const traps = static_cast<Trap*>(launched);
    for (std::size_t i = 0; i < traps_.size(); ++i) {
      if (traps[i].code != 0) out.push_back({traps_[i].call, traps_[i].describe(traps[i])});
    }
    spare_.push_back(traps);
    return out;
  }

 private:
  // Of one launch, from here to finish().
  Trap* take_traps(Site site) {
    if (traps_.empty()) return nullptr;
    const std::size_t bytes = traps_.size() * sizeof(Trap);
    void* memory = nullptr;
    if (!spare_.empty()) {
      memory = spare_.back();
      spare_.pop_back();
    } else if (const CUresult result =
                   driver().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
               result != CUDA_SUCCESS) {
      throw KernelFailed(text("pinned memory: ", driver().describe(result)), site);
    }
    std::memset(memory, 0, bytes);
    return static_cast<Trap*>(memory);
  }

  void update(Node& node, std::span<const std::uint64_t> values, Site site) {
    bool has_changed = false;
    for (const Node::Word& word : node.words) {
      if (values[word.value] == values_[word.value]) continue;
      has_changed = true;
      const std::uint64_t now = values[word.value] + word.beside;
      std::memcpy(&node.arguments[word.argument][word.at], &now, 8);
    }
    if (!has_changed) return;
    std::vector<void*> addresses;
    for (std::vector<std::byte>& each : node.arguments) addresses.push_back(each.data());
    CUDA_KERNEL_NODE_PARAMS kernel = node.kernel;
    kernel.kernelParams = addresses.data();
    const CUresult result = driver().cuGraphExecKernelNodeSetParams(exec_.get(), node.node, &kernel);
    if (result != CUDA_SUCCESS) throw KernelFailed(text("graph update: ", driver().describe(result)), site);
  }

  OwnedGraph graph_;  // the nodes are its
  OwnedExec exec_;
  std::vector<ArmedTrap> traps_;
  std::vector<Node> changing_;
  std::vector<std::uint64_t> values_;  // that the kernels have now; last, where their traps are
  std::vector<Trap*> spare_;           // pinned
};

class CudaGraphs final : public StreamGraphs {
 public:
  std::unique_ptr<StreamGraph> make(DeviceStream& stream, std::size_t calls, std::span<const std::uint64_t> values,
                                    const IssueWith& issue, std::span<const std::vector<std::size_t>> after, Site site) override {
    Recorded recorded = read(static_cast<CudaStream&>(stream), calls, values, issue, site, true);
    if (recorded.graph && !after.empty() && !order_calls(recorded, after))
      recorded = read(static_cast<CudaStream&>(stream), calls, values, issue, site, true);
    CUgraphExec made = nullptr;
    if (!recorded.graph || driver().cuGraphInstantiate(&made, recorded.graph.get(), 0) != CUDA_SUCCESS) return nullptr;
    return std::make_unique<CudaGraph>(std::move(recorded), OwnedExec(made));
  }
  bool can_make(DeviceStream& stream, std::span<const std::uint64_t> values, const IssueWith& issue, Site site) override {
    return read(static_cast<CudaStream&>(stream), 1, values, issue, site, values.empty()).graph != nullptr;
  }
};

[[maybe_unused]] const bool is_registered = [] {
  static CudaGraphs graphs;
  register_stream_graphs(BackendKind::cuda, graphs);
  return true;
}();

}  // namespace

}  // namespace tutti::cuda
