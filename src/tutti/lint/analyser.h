// Follows the values of one source through its statements and functions, and reports where the host waits. Inside the module
// only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tutti/lint/finding.h"
#include "tutti/lint/program.h"
#include "tutti/lint/syntax_tree.h"
#include "tutti/lint/value.h"

namespace tutti::lint {

class Analyser {
 public:
  // `unknown`: what a name is taken for that nothing is known of.
  explicit Analyser(const SyntaxTree& tree, const Value& unknown = {}) : tree_(tree), unknown_(unknown) {}
  std::vector<Finding> run();

 private:
  static constexpr int deepest = 150;                      // what is nested deeper is not followed
  static constexpr std::string_view ctc_loss = "CTCLoss";  // names a module whose lengths are read

  using Change = std::pair<std::string_view, Value>;
  struct Scope {
    Bindings names;
    std::vector<Change> undo;                                // what a name was before, since a branch began
    std::unordered_map<std::string_view, Given*> elsewhere;  // `global` and `nonlocal`: whose they are
    Given* given = nullptr;                                  // what functions inside gave to names of this one
    Scope* outer = nullptr;
  };

  // analyser.cc: rounds, names, findings
  std::uint32_t declare_function(NodeId definition, std::uint32_t type, bool is_jitted);
  void declare_parameters(Function& function, bool is_method);
  void declare_type(NodeId definition);
  static void add_base(Type& type, std::uint32_t base);
  Value annotated(std::string_view annotation) const;
  void run_function(std::uint32_t index, Scope* outer);
  bool finish_round();
  bool imports_framework() const;
  void report(RuleId rule, NodeId at, Confidence sure, std::vector<Edit> fix = {});
  void report_loaders();
  bool is_jit(NodeId decorator) const;  // of JAX
  bool is_setting_up() const;
  Weight weight() const;
  const std::string* interned(std::string_view text);
  Value look_up(std::string_view name) const;
  void bind(std::string_view name, const Value& value);
  std::string_view text(NodeId id) const { return tree_.text(id); }
  NodeId first(NodeId of) const;  // without comments
  NodeId next(NodeId after) const;
  std::string literal(NodeId string) const;

  // statements.cc; true where what follows is not reached
  bool execute(NodeId statement);
  bool execute_all(NodeId block);
  void execute_assignment(NodeId statement);
  void execute_if(NodeId statement, bool& leaves);
  void execute_loop(NodeId statement);
  void execute_with(NodeId statement);
  void execute_import(NodeId statement);
  void declare_elsewhere(NodeId statement);
  void assign(NodeId target, const Value& value, NodeId source);
  void unpack(NodeId targets, const Value& value);
  std::vector<Change> take_changes(std::size_t since);
  template <class Body>
  std::vector<Change> branch(Body&& body, bool& leaves);
  void join_branches(const std::vector<std::vector<Change>>& branches);

  // expressions.cc
  Value evaluate(NodeId expression);
  Value evaluate_node(NodeId expression);
  Value evaluate_operator(NodeId expression);
  Value evaluate_comparison(NodeId expression);
  Value evaluate_comprehension(NodeId expression);
  Value evaluate_attribute(NodeId expression);
  Value attribute_of(const Value& object, std::string_view name);
  static void assign_attribute(Type& type, std::string_view name, const Value& value);
  Value attribute_of_type(std::uint32_t type, std::string_view name);
  Place place_of_parts(const Type& type) const;
  Value test(NodeId condition, RuleId rule);  // as if and while do
  void test_value(const Value& value, NodeId at, RuleId rule);
  void read(const Value& value, NodeId at, RuleId rule);  // the host needs it
  Value combined(const Arguments& arguments) const;       // on the device of its tensors
  Value combined(const Value& a, const Value& b) const;
  Value element_of(const Value& value) const;
  Value make_container(std::vector<Value> items, bool has_positions);
  bool is_host_number(NodeId node, const Value& value) const;

  // subscripts.cc
  Value evaluate_subscript(NodeId expression);
  void check_indices(NodeId subscript, const Value& object, bool is_stored, const Value& stored, NodeId source);
  void assign_subscript(NodeId target, const Value& value, NodeId source);

  // calls.cc
  Value evaluate_call(NodeId call);
  Arguments arguments_of(NodeId call);
  Value call_value(const Value& callee, NodeId call, const Arguments& arguments);
  Value call_function(std::uint32_t index, const Arguments& arguments, bool is_bound);
  Value call_builtin(std::string_view name, NodeId call, const Arguments& arguments);
  Value call_method(const Value& object, NodeId object_node, std::string_view name, NodeId call, const Arguments& arguments);
  Value call_container(const Value& object, std::string_view name, const Arguments& arguments);
  Value call_unknown(NodeId object_node, std::string_view name, NodeId call, const Arguments& arguments);
  Value instantiate(std::uint32_t type, const Arguments& arguments);
  void give_fields(Type& type, const Arguments& arguments);
  Value call_accelerator(std::string_view name, const Arguments& arguments);
  Value prepared(const Argument& argument);
  Value call_scaler(const Value& object, std::string_view name, NodeId call, const Arguments& arguments);
  Value moved_device(std::string_view method, const Arguments& arguments) const;  // of another kind if it does not move
  bool is_imported_model(NodeId node);
  Value move_module(const Value& object, NodeId object_node, const Value& device);
  std::uint32_t method_of(std::uint32_t type, std::string_view name) const;  // from 1; 0: none
  bool check_logging(const Value& object, NodeId object_node, std::string_view name, NodeId call, const Arguments& arguments);

  // torch_calls.cc
  Value call_qualified(std::string_view path, NodeId call, const Arguments& arguments);
  Value call_torch(std::string_view name, NodeId call, const Arguments& arguments);
  Value call_torch_op(std::string_view name, NodeId call, const Arguments& arguments);
  Value make_tensor(NodeId call, const Arguments& arguments, bool is_copied);
  Value make_filled(std::string_view name, const Arguments& arguments);
  Value make_loader(NodeId call, const Arguments& arguments);
  Value make_dataset(std::string_view name, const Arguments& arguments);
  Value make_optimizer(const Arguments& arguments) const;
  Value make_scaler(bool is_of_cuda, const Arguments& arguments) const;
  bool has_items_on_gpu(const Value& data) const;
  bool has_items_on_gpu(const Value& data, int& most) const;
  Value make_distribution(NodeId call, const Arguments& arguments);
  void read_ctc_lengths(NodeId call, const Arguments& arguments);
  Value call_jax(std::string_view name, NodeId call, const Arguments& arguments);
  Value device_of(const Argument* argument) const;  // by what it is, else by its name; of another kind if it names none
  Known pinned_by(const Arguments& arguments, Known otherwise) const;
  Element element_of_dtype(const Arguments& arguments) const;

  // tensor_methods.cc
  Value call_tensor(const Value& object, NodeId object_node, std::string_view name, NodeId call, const Arguments& arguments);
  Value shaped_by_values(const Value& object, std::string_view name, NodeId call, const Arguments& arguments, std::size_t first,
                         bool& is_known);
  // `flag`: the position of non_blocking among the arguments
  Value move(const Value& object, NodeId object_node, const Value& device, NodeId call, const Arguments& arguments,
             std::size_t flag);
  Value call_to(const Value& object, NodeId object_node, NodeId call, const Arguments& arguments);
  bool does_not_block(const Arguments& arguments, std::size_t position) const;
  std::vector<Edit> with_argument(NodeId call, const Arguments& arguments, std::string_view argument) const;
  std::vector<Edit> without_blocking(NodeId call, const Arguments& arguments, std::size_t position) const;

  // query_loops.cc
  void check_query(NodeId call, Confidence sure);
  std::optional<std::vector<NodeId>> ways_out_of(NodeId loop) const;  // none: it does more than ask
  bool leaves_loop(NodeId block, NodeId loop) const;
  bool is_work(NodeId id) const;

  // last_use.cc
  bool is_last_use(NodeId source, NodeId copy) const;
  bool is_from_loader(NodeId iterable) const;
  bool is_target(NodeId target, std::string_view name) const;
  bool leaves_memory_alone(NodeId mention, NodeId copy) const;
  bool has_loose_copies() const;

  const SyntaxTree& tree_;
  const Value unknown_;
  std::unordered_set<std::string> strings_;
  std::deque<Function> functions_;
  std::deque<Type> types_;
  std::vector<Container> containers_;
  std::vector<Loader> loaders_;
  std::vector<Partial> partials_;
  Given globals_;  // by functions, to names of the module
  std::unordered_map<NodeId, std::uint32_t> function_at_;
  std::unordered_map<NodeId, std::uint32_t> type_at_;
  std::unordered_map<NodeId, std::uint32_t> loader_at_;
  Scope module_;
  Scope* scope_ = nullptr;
  Function* function_ = nullptr;
  Value default_device_;
  bool validates_distributions_ = true;
  bool is_reporting_ = false;
  int muted_ = 0;
  int loops_ = 0;
  int steps_ = 0;
  int sometimes_ = 0;
  int depth_ = 0;
  std::vector<std::uint32_t> nested_;                                            // functions defined in the one that runs
  std::unordered_map<NodeId, std::optional<std::vector<NodeId>>> asking_loops_;  // by loop: what ways_out_of() told
  std::unordered_set<NodeId> safe_copies_;  // whose sources nobody writes to before they have run
  std::set<std::pair<NodeId, RuleId>> reported_;
  std::vector<Finding> findings_;
};

}  // namespace tutti::lint
