#!/usr/bin/env python3
"""docs/ops.md, the catalogue, the headers and the oracle speak of the same functions. usage: ops_page_test.py COMMAND"""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/ops-page"
COMMAND = sys.argv.pop(1)


def load(name, path):
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
ops_page = load("ops_page", SCRIPT)

# Declared in the headers and not in the catalogue, and why. A class stands for its members, a member for those of all classes.
NOT_CATALOGUED = {
    "each_member": "how flatten.h sees what a class holds",
    "FindNonFinite::run": "an executor's part",
    "Tape::run": "an executor's part",
    "Tape::watch_leaf": "what Tape::watch does with one tensor",
    "BenchResult": "timing of other functions",
    "bench": "timing of other functions",
    "call_op": "calls any op by name",
    "Callback": "what a training calls: docs/training.md",
    "Training": "what callbacks are given: docs/training.md",
    "History": "what fit gives",
    "Loss": "what compile takes",
    "PerReplica": "what functions take and give",
    "Model::net": "a fact, not an op",
    "MirroredStrategy::devices": "a fact about a strategy",
    "MirroredStrategy::mesh": "a fact about a strategy",
    "MirroredStrategy::replicas": "a fact about a strategy",
    "MirroredStrategy::replicas_in_sync": "a fact about a strategy",
    "Generator": "hands out random numbers to functions",
    "State": "what a generator hands out numbers from",
    "default_generator": "a setting",
    "set_seed": "a setting",
    "Mesh": "facts about a mesh",
    "MeshDims": "what functions take",
    "Layout": "facts about a layout",
    "ShardedTensor": "facts about a tensor",
    "ShardedArg": "what functions take",
    "process_rank": "a fact about the job",
    "process_count": "a fact about the job",
    "local_process_rank": "a fact about the job",
    "join_job": "a setting",
    "abort_job": "ends the job",
    "Pending": "what read_async gives",
    "Variable::cell": "for whoever records calls",
    "Variable::device": "a fact, not an op",
    "Variable::dtype": "a fact, not an op",
    "Variable::is_trainable": "a setting",
    "Variable::set_trainable": "a setting",
    "Variable::shape": "a fact, not an op",
    "allows_tf32": "a setting",
    "is_deterministic": "a setting",
    "set_allow_tf32": "a setting",
    "set_deterministic": "a setting",
    "NumberArg": "what functions take",
    "ReducedAxes": "what functions take",
}

# Not judged by NumPy under their own names, and what tests them instead.
NOT_JUDGED = {
    "channels_last": "tests/conformance/windows_test.cc",
    "Variable::assign": "tests/conformance/variable_test.cc",
    "Variable::assign_add": "tests/conformance/variable_test.cc",
    "Variable::value": "tests/conformance/variable_test.cc",
    "cond": "tests/conformance/control_test.cc",
    "while_loop": "tests/conformance/control_test.cc",
    "read_all": "tests/door/modes_test.cc",
    "constant": "every input of the oracle is made by it",
    "from_bytes": "every input of the oracle is made by it",
    "contiguous": "judged as 'same'",
    "stop_gradient": "tests/train/value_and_grad_test.cc",
    "copy_to": "judged as 'same'",
    "broadcast_to": "a view of an input, judged as 'same'",
    "permute_dims": "a view of an input, judged as 'same'",
    "reshape": "a view of an input, judged as 'same'",
    "slice": "a view of an input, judged as 'same'",
    "transpose": "a view of an input, judged as 'same'",
    "At::add": "judged as 'at'",
    "At::get": "judged as 'at'",
    "At::max": "judged as 'at'",
    "At::min": "judged as 'at'",
    "At::multiply": "judged as 'at'",
    "At::set": "judged as 'at'",
    "empty": "its values are unspecified",
    "ones_like": "full_like with a value",
    "zeros_like": "full_like with a value",
    "full": "tests/conformance/elementwise_test.cc",
    "ones": "tests/conformance/elementwise_test.cc",
    "zeros": "tests/conformance/elementwise_test.cc",
    "from_dlpack": "tests/ops/dlpack_test.cc",
    "to_dlpack": "tests/ops/dlpack_test.cc",
    "is_pinned": "tests/exec/staging_test.cc",
    "pin": "tests/exec/staging_test.cc",
    "item": "reads what the oracle judges",
    "read": "reads what the oracle judges",
    "read_async": "tests/conformance/reading_test.cc",
    "try_read": "tests/conformance/reading_test.cc",
    "to_string": "tests/tensor/numpy_print_test.cc",
    "uniform": "random: tests/ops/uniform_test.cc",
    "all_gather": "tests/mesh/collectives_test.cc",
    "all_reduce": "tests/mesh/collectives_test.cc",
    "all_to_all": "tests/mesh/collectives_test.cc",
    "broadcast": "tests/mesh/collectives_test.cc",
    "reduce_scatter": "tests/mesh/collectives_test.cc",
    "elementwise": "tests/mesh/sharded_ops_test.cc",
    "pack": "tests/mesh/sharded_tensor_test.cc",
    "shard": "tests/mesh/sharded_tensor_test.cc",
    "to_tensor": "tests/mesh/sharded_tensor_test.cc",
    "unpack": "tests/mesh/sharded_tensor_test.cc",
    "relayout": "tests/mesh/relayout_test.cc",
    "wrap_device_memory": "tests/cuda/memory_test.cc",
    "wrap_host_memory": "tests/lifecycle/lent_memory_test.cc",
    "mse_loss": "by libtorch: benchmarks/gradients_torch.cc",
    "mae_loss": "by libtorch: benchmarks/gradients_torch.cc",
    "dense_cross_entropy": "by libtorch: benchmarks/gradients_torch.cc",
    "smoothed_cross_entropy": "by libtorch: benchmarks/gradients_torch.cc",
    "binary_cross_entropy": "by libtorch: benchmarks/gradients_torch.cc",
    "scaled_dot_product_attention": "by libtorch: benchmarks/gradients_torch.cc",
}

# Rows that no catalogued function names.
INNER_OPS = {
    "ApplyAdam": "Adam, of train",
    "ApplyGradientDescent": "Sgd, of train",
    "AvgPoolGrad": "the gradient of avg_pool2d",
    "Conv2DBackpropFilter": "the gradient of conv2d by its weight",
    "Conv2DBackpropInput": "the gradient of conv2d by its images",
    "FusedMatMulGrad": "the gradients of linear by its weight and bias",
    "GeluGrad": "the gradient of gelu",
    "Identity": "value_and_grad tells two uses of a tensor apart by it",
    "LayerNormGrad": "the gradient of layer_norm",
    "MaxPoolGrad": "the gradient of max_pool2d",
    "MaxPoolGradGrad": "and that of its gradient",
    "ReluGrad": "the gradient of relu",
    "ScaledDotProductAttention": "scaled_dot_product_attention, of train",
    "ScaledDotProductAttentionGrad": "and its gradient",
    "SparseSoftmaxCrossEntropyGrad": "the gradient of cross_entropy",
    "Unfold": "conv2d of whole numbers",
    "_Region": "the gradient of a scatter looks at its places through it",
    "_RecordEvent": "Event::record, of streams",
    "_Wait": "Stream::wait",
}


def judged():
    """The ops in the oracle's JUDGES tables."""
    folder = ROOT / "tests/oracle/judges"
    sys.path.insert(0, str(folder))
    found = {}
    for file in sorted(folder.glob("*.py")):
        if file.stem != "judge":
            found |= dict.fromkeys(getattr(load(file.stem, file), "JUDGES", {}), file.name)
    return found


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.catalogue = ops_page.ask(COMMAND)
        cls.functions = [each["name"] for each in cls.catalogue["functions"]]
        cls.others = [each["name"] for each in cls.catalogue["others"]]

    def test_is_up_to_date(self):
        done = subprocess.run([sys.executable, SCRIPT, COMMAND, "--check"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_function_is_named_once(self):
        self.assertEqual(sorted(set(self.functions)), sorted(self.functions))

    def test_every_declared_function_is_in_the_catalogue(self):
        missing = {name for name in self.others if not {name, *name.split("::")} & set(NOT_CATALOGUED)}
        self.assertEqual(missing, set(), "give it a line in src/tutti/ops/catalogue.cc, or a reason here")

    def test_every_function_is_declared_and_described(self):
        for each in [*self.catalogue["functions"], *self.catalogue["others"]]:
            self.assertTrue(each["declarations"], each["name"])
            self.assertTrue(each["description"], each["name"])

    def test_every_options_struct_is_told_with_its_fields(self):
        for each in self.catalogue["functions"]:
            asked = set(re.findall(r"\w+Options", " ".join(each["declarations"])))
            told = {kind["name"]: kind["fields"] for kind in each["types"]}
            self.assertLessEqual(asked, set(told), each["name"])
            self.assertTrue(all(told.values()), each["name"])
        page = ops_page.PAGE.read_text()
        for name in ("UniformOptions", "CholeskyResult", "BarrierOptions"):
            self.assertEqual(page.count(f"\n- `{name}`"), 1, name)

    def test_every_op_is_run_by_a_function(self):
        run = {op for each in self.catalogue["functions"] for op in each["ops"]}
        self.assertEqual({each["name"] for each in self.catalogue["ops"]} - run - set(INNER_OPS), set())

    def test_every_function_has_dtypes_on_the_cpu(self):
        for each in self.catalogue["functions"]:
            self.assertEqual(bool(each["dtypes"]["cpu"]), each["takes_tensors"], each["name"])

    def test_numpy_judges_every_function(self):
        judges = judged()
        calls = "".join(file.read_text() for file in sorted((ROOT / "tests/oracle").glob("*.cc")))
        for each in self.catalogue["functions"]:
            name = each["name"]
            if each["takes_tensors"] and name not in NOT_JUDGED:
                self.assertIn(name, judges, "no file in tests/oracle/judges judges it")
                self.assertRegex(calls, rf"\b{re.escape(name)}\b", "no test in tests/oracle calls it")

    def test_the_exceptions_are_still_needed(self):
        self.assertEqual(set(NOT_JUDGED) - set(self.functions), set())
        self.assertEqual(set(NOT_JUDGED) & set(judged()), set())
        members = {part for name in self.others for part in name.split("::")}
        self.assertEqual(set(NOT_CATALOGUED) - set(self.others) - members, set())
        self.assertEqual(set(NOT_CATALOGUED) & set(self.functions), set())
        for why in NOT_JUDGED.values():
            for path in re.findall(r"(?:tests|benchmarks)/\S+\.cc", why):
                self.assertTrue((ROOT / path).exists(), path)


if __name__ == "__main__":
    unittest.main()
