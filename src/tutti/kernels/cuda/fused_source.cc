#include "tutti/kernels/cuda/fused_source.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string_view>

#include "tutti/base/text.h"
#include "tutti/exec/scalar_ops.h"
#include "tutti/kernels/cuda/reduction_plan.cuh"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

// What a step needs to know of a scalar function.
struct ScalarForm {
  std::string type;
  std::size_t inputs = 0;
  ScalarOp op;
  bool has_bool_form = false;
  bool may_fail_on_integers = false;
};

template <class F>
std::string type_name() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("F = ") + 4);
  name = name.substr(0, name.find_first_of(";]"));
  return std::string(name.substr(name.rfind(':') + 1));
}

using Forms = std::map<std::string, ScalarForm, std::less<>>;

template <class F>
concept HasBoolForm = requires { typename F::OfBools; };
template <class F>
concept MayFail = requires { F::fault; };

template <int inputs, class... F>
void add(Forms& forms, ScalarOps<inputs, F...>) {
  (forms.emplace(F::op.name, ScalarForm{type_name<F>(), inputs, F::op, HasBoolForm<F>, MayFail<F>}), ...);
}

const Forms& all_forms() {
  static const Forms all = [] {
    Forms out;
    const auto add_all = [&](auto... families) { (add(out, families), ...); };
    using namespace scalar;
    add_all(Arithmetic{}, Extremes{}, Limits{}, Signs{}, Roots{}, SignsOfOthers{}, Roundings{}, Equalities{}, Orders{}, Tests{},
            Bits{}, Shifts{}, Complements{}, Divisions{}, Exponentials{}, Logarithms{}, Distances{}, Hyperbolics{},
            InverseHyperbolics{}, Circulars{}, InverseCirculars{}, Angles{}, Rectifiers{}, Activations{}, ActivationGradients{});
    return out;
  }();
  return all;
}

constexpr DTypes fusible_dtypes = DTypes{DType::i32, DType::i64} | floating_dtypes | boolean_dtype;

// clang-format off
template <class T> const char* stored_text() = delete;
template <> const char* stored_text<bool>() { return "std::uint8_t"; }
template <> const char* stored_text<std::int32_t>() { return "std::int32_t"; }
template <> const char* stored_text<std::int64_t>() { return "std::int64_t"; }
template <> const char* stored_text<f16>() { return "__half"; }
template <> const char* stored_text<bf16>() { return "__nv_bfloat16"; }
template <> const char* stored_text<float>() { return "float"; }
template <> const char* stored_text<double>() { return "double"; }
// clang-format on

const char* stored_type(DType dtype) {
  return visit_dtype<fusible_dtypes>(dtype, []<class T>(T) { return stored_text<T>(); });
}

bool is_integer(DType dtype) { return integer_dtypes.contains(dtype); }

std::string step_text(const FusedProgram::Step& step, const std::vector<DType>& dtypes) {
  const DType from = dtypes[step.from.back()];
  const auto value = [&](std::size_t i) { return text("v", step.from[i]); };
  if (step.op == "Cast") {
    const std::string x = from == DType::boolean ? text("StoredBool{", value(0), "}") : value(0);
    if (from == step.dtype) return value(0);
    if (step.dtype == DType::boolean) return text("convert<StoredBool>(", x, ").byte");
    return text("convert<", stored_type(step.dtype), ">(", x, ")");
  }
  if (step.op == "SelectV2") return text(value(0), " != 0 ? ", value(1), " : ", value(2));
  const ScalarForm& form = all_forms().at(step.op);
  const bool as_bools = from == DType::boolean && form.has_bool_form;
  std::string taken = stored_type(from);
  if (is_integer(from) && form.op.wraps) taken = text("std::make_unsigned_t<", taken, ">");
  std::string out =
      text("step<", as_bools ? text("typename ", form.type, "::OfBools") : form.type, ", ", stored_type(step.dtype));
  out += text(", ", form.op.gives_bool ? "true" : "false", ">(");
  for (std::size_t i = 0; i < step.from.size(); ++i) out += text(i == 0 ? "" : ", ", "static_cast<", taken, ">(", value(i), ")");
  return out + ")";
}

// How one argument is reached.
struct Reach {
  enum class How : std::uint8_t { number, one, pack, repeated, lanes };
  How how = How::lanes;
  DType dtype = DType::f32;
  std::vector<Axis> axes = {};  // as few as will do, outermost first
  bool is_dense = false;
};

// In the order of the axes given, those that step together joined.
std::vector<Axis> joined(const Operand& operand, const std::vector<std::size_t>& order) {
  std::vector<Axis> out;
  for (const std::size_t each : order) {
    const Axis axis{operand.axes[each].size, operand.is_immediate ? 0 : operand.axes[each].stride};
    if (axis.size == 1) continue;
    if (!out.empty() && out.back().stride == axis.stride * axis.size) {
      out.back() = {out.back().size * axis.size, axis.stride};
    } else {
      out.push_back(axis);
    }
  }
  return out;
}

Reach reach_of(const Operand& operand, const std::vector<std::size_t>& order, int width) {
  Reach out{.dtype = operand.dtype, .axes = joined(operand, order)};
  out.is_dense = out.axes.empty() || (out.axes.size() == 1 && out.axes[0].stride == 1);
  const auto is_still = [](const Axis& axis) { return axis.stride == 0; };
  const std::size_t bytes = size_of(operand.dtype) * static_cast<std::size_t>(width);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(operand.data) % bytes == 0;
  if (operand.is_immediate) {
    out.how = Reach::How::number;
  } else if (std::all_of(out.axes.begin(), out.axes.end(), is_still)) {
    out.how = Reach::How::one;
  } else if (out.is_dense) {
    out.how = is_aligned ? Reach::How::pack : Reach::How::lanes;
  } else if (out.axes.back().size % width == 0 && out.axes.back().stride == 0) {
    out.how = Reach::How::repeated;
  } else if (out.axes.back().size % width == 0 && out.axes.back().stride == 1 && is_aligned &&
             std::all_of(out.axes.begin(), out.axes.end() - 1, [&](const Axis& axis) { return axis.stride % width == 0; })) {
    out.how = Reach::How::pack;
  }
  return out;
}

// Where element i of the walk lies.
std::string place_text(const Reach& reach, std::size_t number) {
  std::string out = text("__device__ __forceinline__ long at", number, "(Index i) {\n");
  if (reach.is_dense) return out + "  return i;\n}\n";
  out += "  long out = 0;\n";
  for (std::size_t k = reach.axes.size(); k-- > 0;) {
    const Axis& axis = reach.axes[k];
    const std::string step = text(axis.stride, "L");
    if (k == 0) {
      if (axis.stride != 0) out += text("  out += static_cast<long>(i) * ", step, ";\n");
    } else {
      if (axis.stride != 0) out += text("  out += static_cast<long>(i % ", axis.size, ") * ", step, ";\n");
      out += text("  i /= ", axis.size, ";\n");
    }
  }
  return out + "  return out;\n}\n";
}

constexpr std::string_view opening = R"(#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/cast.cuh"

namespace tutti::kernels::cuda {

#include "tutti/exec/scalar_gradients.h"

template <class T, int width>
struct alignas(sizeof(T) * width) Lanes {
  T lane[width];
};

template <class F, class Out, bool gives_bool, class X, class... More>
__device__ __forceinline__ Out step(X x, More... more) {
  using Math = ScalarMath<Working<X>>;
  if constexpr (std::is_same_v<F, LogAddExp> && std::is_same_v<Working<X>, float>) {
    return narrow<Out>(log_add_exp(widen(x), widen(more)...));
  } else if constexpr (gives_bool) {
    return static_cast<bool>(F::apply(Math{}, widen(x), widen(more)...)) ? 1 : 0;
  } else if constexpr (is_half<Out>) {
    return narrow<Out>(F::apply(Math{}, widen(x), widen(more)...));
  } else {
    return static_cast<Out>(F::apply(Math{}, widen(x), widen(more)...));
  }
}

)";

// A row is reduced as by the kernel that runs alone (reduction_kernels.cuh), by as many threads and in the same order: what is
// loaded there is worked out here.
constexpr std::string_view closing_headers = R"(#include "tutti/kernels/cuda/accumulate.cuh"
#include "tutti/kernels/cuda/float_sums.cuh"
#include "tutti/kernels/cuda/lane_totals.cuh"
#include "tutti/kernels/cuda/ordered.cuh"
)";

constexpr std::string_view closing_source = R"(
struct Packs {
  using Element = Reduced;
  using Loaded = Lanes<Reduced, cuda::width>;
  static constexpr int width = cuda::width;
  const Pass& pass;
  Index start;
  __device__ __forceinline__ Loaded load(std::int64_t i) const { return pass.pack(start + static_cast<Index>(i) * width); }
  __device__ __forceinline__ void unpack(const Loaded& loaded, Element (&elements)[width]) const {
#pragma unroll
    for (int k = 0; k < width; ++k) elements[k] = loaded.lane[k];
  }
};

)";

std::string reduction_text(const FusedProgram::Closing& closing) {
  if (closing.op == "Max") return "Extremum<Reduced, OrderedFloat<Reduced>>{{true, false}}";
  if (closing.op == "Min") return "Extremum<Reduced, OrderedFloat<Reduced>>{{false, false}}";
  return text("SumOfFloats<Reduced>{SumOf::elements, ", closing.op == "Mean" ? "row" : "1", "}");
}

// Largest steps of what is stored first come first: then that is walked as it lies.
std::vector<std::size_t> walk_of(const Operand& to) {
  std::vector<std::size_t> order(to.rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(to.axes[a].stride) > std::abs(to.axes[b].stride); });
  return order;
}

std::string listed(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& each : parts) out += text(out.empty() ? "" : ", ", each);
  return out;
}

// A pack of each operand: those of results are filled later.
std::string loading_text(const std::vector<Reach>& reaches, std::size_t inputs) {
  std::string out;
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const Reach& reach = reaches[i];
    const std::string lanes = text("Lanes<", stored_type(reach.dtype), ", width>");
    if (i >= inputs) {
      out += text("    ", lanes, " l", i, ";\n");
    } else if (reach.how == Reach::How::pack) {
      out += text("    const ", lanes, " l", i, " = *reinterpret_cast<const ", lanes, "*>(p", i, " + at", i, "(first));\n");
    } else if (reach.how == Reach::How::repeated) {
      out += text("    const ", stored_type(reach.dtype), " x", i, " = p", i, "[at", i, "(first)];\n");
    } else if (reach.how == Reach::How::lanes) {
      out += text("    ", lanes, " l", i, ";\n#pragma unroll\n    for (int k = 0; k < width; ++k) l", i, ".lane[k] = p", i, "[at",
                  i, "(first + k)];\n");
    }
  }
  return out;
}

std::string storing_text(const std::vector<Reach>& reaches, std::size_t inputs) {
  std::string out;
  for (std::size_t i = inputs; i < reaches.size(); ++i) {
    const std::string lanes = text("Lanes<", stored_type(reaches[i].dtype), ", width>");
    if (reaches[i].how == Reach::How::pack) {
      out += text("    *reinterpret_cast<", lanes, "*>(p", i, " + at", i, "(first)) = l", i, ";\n");
    } else if (reaches[i].how == Reach::How::one) {
      out += text("    *p", i, " = l", i, ".lane[0];\n");
    } else {
      out += text("#pragma unroll\n    for (int k = 0; k < width; ++k) p", i, "[at", i, "(first + k)] = l", i, ".lane[k];\n");
    }
  }
  return out;
}

}  // namespace

bool is_fusible(const std::string& op, std::span<const Operand> operands) {
  const auto fits = [](const Operand& each) { return fusible_dtypes.contains(each.dtype); };
  if (operands.empty() || !std::all_of(operands.begin(), operands.end(), fits)) return false;
  const Operand& out = operands.back();
  const auto inputs = operands.first(operands.size() - 1);
  const auto has_its_sizes = [&](const Operand& each) {
    if (each.is_immediate) return true;
    if (each.rank != out.rank) return false;
    for (std::size_t i = 0; i < out.rank; ++i) {
      if (each.axes[i].size != out.axes[i].size) return false;
    }
    return true;
  };
  if (!std::all_of(inputs.begin(), inputs.end(), has_its_sizes) || out.count() == 0) return false;
  const auto is_like = [&](DType dtype) {
    return std::all_of(inputs.begin(), inputs.end(), [&](const Operand& each) { return each.dtype == dtype; });
  };
  if (op == "Cast") return inputs.size() == 1;
  if (op == "SelectV2")
    return inputs.size() == 3 && inputs[0].dtype == DType::boolean && inputs[1].dtype == out.dtype &&
           inputs[2].dtype == out.dtype;
  const auto found = all_forms().find(op);
  if (found == all_forms().end() || found->second.inputs != inputs.size()) return false;
  const ScalarForm& form = found->second;
  const DType dtype = inputs[0].dtype;
  return is_like(dtype) && form.op.takes.contains(dtype) && out.dtype == (form.op.gives_bool ? DType::boolean : dtype) &&
         !(form.may_fail_on_integers && !is_floating(dtype));
}

FusedSource fused_source(const FusedProgram& program) {
  FusedSource made;
  std::vector<const Operand*> operands;
  for (const Operand& each : program.inputs) operands.push_back(&each);
  for (const FusedProgram::Store& each : program.stores) operands.push_back(&each.to);
  const std::optional<FusedProgram::Closing>& closing = program.closing;
  const Operand& walked = closing ? closing->of : program.stores.front().to;
  made.count = walked.count();
  const std::vector<std::size_t> walk = walk_of(walked);
  std::size_t largest = 1;
  for (const Operand* each : operands) {
    if (!each->is_immediate && !each->is_single()) largest = std::max(largest, size_of(each->dtype));
  }
  made.width = static_cast<int>(std::clamp<std::size_t>(16 / largest, 1, 8));
  std::int64_t share = std::int64_t{fused_threads} * made.width;  // elements of a block
  int lanes = 1;
  if (closing) {
    made.width = elements_of_a_row_at_once(closing->of.dtype);
    lanes = lanes_of_row(closing->row, closing->of.dtype);
    share = closing->row * (static_cast<int>(fused_threads) / lanes);
  }
  made.blocks = (made.count + share - 1) / share;
  std::vector<Reach> reaches;
  std::int64_t furthest = made.count;
  for (const Operand* each : operands) {
    // A number inside the call has no axes of its own.
    Reach reach = each->is_immediate ? Reach{.how = Reach::How::number, .dtype = each->dtype} : reach_of(*each, walk, made.width);
    for (const Axis& axis : reach.axes) furthest = std::max(furthest, axis.size);
    made.alignment.push_back(reach.how == Reach::How::pack ? size_of(reach.dtype) * static_cast<std::size_t>(made.width) : 1);
    reaches.push_back(std::move(reach));
  }
  if (closing) made.alignment.push_back(1);
  const std::size_t inputs = program.inputs.size();
  std::string& out = made.text;
  if (closing) out += closing_headers;
  out += opening;
  out += text("using Index = ", furthest < (std::int64_t{1} << 31U) - 4096 ? "unsigned" : "unsigned long", ";\n");
  out += text("constexpr Index count = ", made.count, ";\nconstexpr int width = ", made.width, ";\n\n");
  const auto is_walked = [](const Reach& reach) { return reach.how != Reach::How::number && reach.how != Reach::How::one; };
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    if (is_walked(reaches[i])) out += place_text(reaches[i], i);
  }
  // One element.
  std::vector<std::string> given;
  for (std::size_t i = 0; i < inputs; ++i) given.push_back(text(stored_type(reaches[i].dtype), " v", i));
  for (std::size_t i = inputs; i < reaches.size(); ++i) given.push_back(text(stored_type(reaches[i].dtype), "& to", i));
  if (closing) given.push_back(text(stored_type(closing->of.dtype), "& reduced"));
  out += text("\n__device__ __forceinline__ void of_one(", listed(given), ") {\n");
  std::vector<DType> dtypes;
  for (const Operand& each : program.inputs) dtypes.push_back(each.dtype);
  for (const FusedProgram::Step& step : program.steps) {
    out += text("  const ", stored_type(step.dtype), " v", dtypes.size(), " = ", step_text(step, dtypes), ";\n");
    dtypes.push_back(step.dtype);
  }
  for (std::size_t i = 0; i < program.stores.size(); ++i) out += text("  to", inputs + i, " = v", program.stores[i].value, ";\n");
  if (closing) out += text("  reduced = v", closing->value, ";\n");
  out += "}\n\n";

  const auto element_type = [&](std::size_t i) {  // of what p, or x, stands for
    return text(i < inputs && is_walked(reaches[i]) ? "const " : "", stored_type(reaches[i].dtype));
  };
  const auto call_text = [&](const char* reduced, const auto& input) {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < reaches.size(); ++i) list.push_back(input(i));
    if (closing) list.emplace_back(reduced);
    return text("of_one(", listed(list), ");\n");
  };
  // A whole pack: everything is loaded before anything is stored.
  std::string of_pack = loading_text(reaches, inputs);
  of_pack += "#pragma unroll\n    for (int k = 0; k < width; ++k) ";
  of_pack += call_text("part.lane[k]", [&](std::size_t i) {
    const bool is_one = !is_walked(reaches[i]) || reaches[i].how == Reach::How::repeated;
    return i < inputs && is_one ? text("x", i) : text("l", i, ".lane[k]");
  });
  of_pack += storing_text(reaches, inputs);
  std::string of_single;
  for (std::size_t i = inputs; i < reaches.size(); ++i) of_single += text("    ", stored_type(reaches[i].dtype), " y", i, ";\n");
  of_single += "    ";
  of_single += call_text("reduced", [&](std::size_t i) {
    if (i >= inputs) return text("y", i);
    return is_walked(reaches[i]) ? text("p", i, "[at", i, "(i)]") : text("x", i);
  });
  for (std::size_t i = inputs; i < reaches.size(); ++i)
    of_single += is_walked(reaches[i]) ? text("    p", i, "[at", i, "(i)] = y", i, ";\n") : text("    *p", i, " = y", i, ";\n");

  std::vector<std::string> parameters;
  std::string single_values;  // inputs of one element, and numbers
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const char* const how = reaches[i].how == Reach::How::one && i < inputs ? " const* p"
                            : reaches[i].how == Reach::How::number          ? " p"
                                                                            : "* p";
    parameters.push_back(text(element_type(i), how, i));
    if (i < inputs && !is_walked(reaches[i]))
      single_values += text("  const ", stored_type(reaches[i].dtype), " x", i, " = ",
                            reaches[i].how == Reach::How::one ? "*p" : "p", i, ";\n");
  }
  if (closing) {
    const char* const reduced = stored_type(closing->to.dtype);
    parameters.push_back(text(reduced, "* reduced"));
    std::vector<std::string> held;
    out += text("using Reduced = ", reduced, ";\nconstexpr int lanes = ", lanes, ";\nconstexpr Index row = ", closing->row,
                ";\n\nstruct Pass {\n");
    for (std::size_t i = 0; i < reaches.size(); ++i) {
      held.push_back(text(i < inputs && !is_walked(reaches[i]) ? "x" : "p", i));
      out += text("  ", element_type(i), held.back()[0] == 'x' ? " " : "* ", held.back(), ";\n");
    }
    out += "  __device__ __forceinline__ Lanes<Reduced, width> pack(Index first) const {\n    Lanes<Reduced, width> part;\n";
    out +=
        of_pack + "    return part;\n  }\n  __device__ __forceinline__ Reduced single(Index i) const {\n    Reduced reduced;\n";
    out += of_single + "    return reduced;\n  }\n};\n";
    out += closing_source;
    out += text("extern \"C\" __global__ void __launch_bounds__(", fused_threads, ") fused(", listed(parameters), ") {\n",
                single_values, "  const Index line = static_cast<Index>(blockIdx.x) * (", fused_threads,
                " / lanes) + threadIdx.x / lanes;\n  const auto reduction = ", reduction_text(*closing),
                ";\n  auto total = reduction.none();\n  if (line < count / row) {\n    const Pass pass{", listed(held),
                "};\n    const Index begin = line * row;\n    total = share_from_boundary<4, width>(\n        reduction, ",
                closing->row % made.width == 0 ? "0" : "(width - begin % width) % width",
                ", row, threadIdx.x % lanes, lanes,\n        [&](std::int64_t head) { return Packs{pass, begin + "
                "static_cast<Index>(head)}; },\n        [&](std::int64_t i) { return pass.single(begin + "
                "static_cast<Index>(i)); });\n  }\n  total = lanes_total(reduction, total, lanes);\n"
                "  if (line < count / row && threadIdx.x % lanes == 0) reduced[line] = reduction.finish(total);\n");
  } else {
    out += text("extern \"C\" __global__ void __launch_bounds__(", fused_threads, ") fused(", listed(parameters),
                ") {\n  const Index first = (static_cast<Index>(blockIdx.x) * ", fused_threads,
                " + threadIdx.x) * width;\n  if (first >= count) return;\n", single_values, "  if (first + width <= count) {\n",
                of_pack, "    return;\n  }\n  for (Index i = first; i < count; ++i) {\n", of_single, "  }\n");
  }
  out += "}\n\n}  // namespace tutti::kernels::cuda\n";
  return made;
}

}  // namespace tutti::kernels::cuda
