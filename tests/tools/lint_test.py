#!/usr/bin/env python3
"""tutti lint from outside. usage: lint_test.py COMMAND ROOT"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

COMMAND, ROOT = os.path.abspath(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
READ = "import torch\nx = torch.ones(3, device='cuda')\ny = x.sum().item()\n"


def lint(*words, cwd=None):
    return subprocess.run([COMMAND, "lint", *words], cwd=cwd, text=True, capture_output=True, timeout=120)


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("read.py", READ)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def lint(self, *words):
        return lint(*words, cwd=self.folder)

    def found(self, *words):
        """[(path, rule)]"""
        done = self.lint("--format", "json", *words)
        self.assertEqual(done.stderr, "")
        return [(each["path"], each["rule"]) for each in json.loads(done.stdout)["findings"]]


class Output(WithFolder):
    def test_text_says_where_what_why_what_instead_and_when(self):
        done = self.lint("read.py")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        for text in ("read.py:3:5: item (certain)\n", "    y = x.sum().item()\n", "why: ", "instead: ", "safe: ", "1 finding in 1 file of 1"):
            self.assertIn(text, done.stdout)

    def test_long_lines_are_cut(self):
        self.write("read.py", READ + "print(x, " + "1234567, " * 20 + "0)\n")
        done = self.lint("read.py")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)
        self.assertIn("    print(x, 1234567, 1234567,", done.stdout)

    def test_json_has_every_documented_field(self):
        found = json.loads(self.lint("--format", "json").stdout)
        self.assertEqual(list(found), ["tutti", "files", "lines", "fixed", "allowed", "findings", "notes", "measured"])
        self.assertEqual(
            list(found["findings"][0]),
            ["rule", "category", "path", "line", "column", "end_line", "end_column", "confidence", "weight", "source", "why", "instead", "safe", "fix", "measured"],
        )
        page = (ROOT / "docs/lint.md").read_text()
        for name in [*found, *found["findings"][0]]:
            self.assertIn(f"`{name}`", page)

    def test_sarif_is_what_code_scanning_reads(self):
        self.write("a b.py", "import torch\nx = torch.tensor(1.0, device='cuda')\n")
        log = json.loads(self.lint("--format", "sarif").stdout)
        self.assertEqual(log["version"], "2.1.0")
        run, = log["runs"]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(len(rules), len(set(rules)))
        self.assertEqual(len(run["results"]), 2)
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]], result["ruleId"])
            self.assertIn(result["level"], ("warning", "note"))
            place = result["locations"][0]["physicalLocation"]
            self.assertNotIn(" ", place["artifactLocation"]["uri"])
            self.assertGreaterEqual(min(place["region"].values()), 1)
        self.assertEqual(run["results"][0]["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"], "full")

    @unittest.skipUnless("SARIF_SCHEMA" in os.environ, "the schema of SARIF 2.1.0 could not be fetched when the build was configured")
    def test_sarif_keeps_its_schema(self):
        import fastjsonschema

        schema = json.loads(pathlib.Path(os.environ["SARIF_SCHEMA"]).read_text())
        keeps = fastjsonschema.compile(schema, formats={"uri-reference": r"^\S*$"})
        self.write("a b.py", "import torch\nx = torch.tensor(1.0, device='cuda')\n")
        log = json.loads(self.lint("--format", "sarif").stdout)
        keeps(log)
        del log["runs"][0]["tool"]["driver"]
        with self.assertRaises(fastjsonschema.JsonSchemaValueException):
            keeps(log)

    def test_github_annotations_are_one_line_each(self):
        self.write("loop.py", "import torch\nx = torch.ones(3, device='cuda')\nfor i in range(3):\n    y = x.sum().item()\n")
        lines = self.lint("--format", "github").stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[0].startswith("::warning file=loop.py,line=4,col=9,endLine=4,title=tutti lint%3A item::"), lines[0])
        self.assertTrue(lines[1].startswith("::notice file=read.py,line=3,"), lines[1])

    def test_sources_that_are_not_utf8_give_valid_json(self):
        (self.folder / "latin.py").write_bytes(READ.encode() + b"print('f\xfcr', x)\n")
        self.assertIn(("latin.py", "print"), self.found("latin.py"))


class Input(WithFolder):
    def test_standard_input_is_read(self):
        def lint_input(*words):
            return subprocess.run([COMMAND, "lint", *words, "-"], input=READ, cwd=self.folder, text=True, capture_output=True, timeout=120)

        done = lint_input()
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("<stdin>:3:5: item (certain)\n", done.stdout)
        done = lint_input("--fix")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("standard input cannot be rewritten", done.stderr)


class Exit(WithFolder):
    def test_status_is_one_with_findings_and_two_for_mistakes(self):
        self.assertEqual(self.lint("read.py").returncode, 1)
        self.assertEqual(self.lint("--exit-zero", "read.py").returncode, 0)
        self.write("clean.py", "import torch\n")
        done = self.lint("clean.py")
        self.assertEqual((done.returncode, done.stdout), (0, "No host sync found in 1 file, 1 line.\n"))
        for words, text in (
            (["missing.py"], "there is no file or folder 'missing.py'"),
            (["--select", "itme"], "no rule or category is named 'itme'; did you mean 'item'?"),
            (["--explain", "blocking"], "did you mean 'blocking-copy'?"),
            (["--min-confidence", "sure"], ""),
            (["--exit-zeor"], "did you mean '--exit-zero'?"),
        ):
            done = self.lint(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(text, done.stderr)


class Choice(WithFolder):
    def test_rules_and_categories_are_selected_and_ignored(self):
        self.write("read.py", READ + "print(x)\ntorch.cuda.synchronize()\n")
        all_found = [rule for _, rule in self.found()]
        self.assertEqual(all_found, ["item", "print", "synchronize"])
        self.assertEqual([rule for _, rule in self.found("--select", "reads")], ["item", "print"])
        self.assertEqual([rule for _, rule in self.found("--select", "item,explicit")], ["item", "synchronize"])
        self.assertEqual([rule for _, rule in self.found("--ignore", "reads")], ["synchronize"])

    def test_findings_below_a_confidence_are_left_out(self):
        self.write("read.py", "import torch\ndef f(x: torch.Tensor):\n    return x.item()\n")
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found("--min-confidence", "possible"), [("read.py", "item")])

    def test_pyproject_configures_and_the_command_line_has_the_last_word(self):
        self.write("read.py", READ + "print(x)\n")
        self.write("old/read.py", READ)
        self.write("pyproject.toml", '[tool.tutti.lint]\nignore = ["print"]\nexclude = ["old/*", "*/old"]\nmin-confidence = "certain"\n')
        self.assertEqual(self.found("."), [("read.py", "item")])
        self.assertEqual([rule for _, rule in self.found("--select", "print", "read.py")], ["print"])

    def test_a_mistake_in_pyproject_is_named(self):
        for text, said in (
            ("[tool.tutti.lint]\nselct = []\n", "tool.tutti.lint has no 'selct'; did you mean 'select'?"),
            ("[tool.tutti.lint]\nselect = 'item'\n", "a list of strings was expected"),
            ("[tool.tutti.lint]\nmin-confidence = 'sure'\n", "'sure' is no confidence"),
            ("[tool.tutti.lint\n", "pyproject.toml: line 1"),
        ):
            self.write("pyproject.toml", text)
            done = self.lint("read.py")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stderr)

    def test_folders_leave_out_what_is_ignored_hidden_or_an_environment(self):
        for name in (".hidden/a.py", "venv/pyvenv.cfg", "venv/lib/a.py", "__pycache__/a.py", "out/a.py", "src/generated_a.py", "src/kept.py", "notes.txt"):
            self.write(name, READ)
        self.write(".gitignore", "/out/\ngenerated_*\n")
        self.assertEqual(self.found(), [("read.py", "item"), ("src/kept.py", "item")])
        self.assertEqual(self.found("out/a.py"), [("out/a.py", "item")], "what is named is read")


class Fixes(WithFolder):
    def test_diff_shows_and_fix_writes(self):
        source = "import torch\nhalf = torch.tensor(0.5, device='cuda')\n"
        self.write("read.py", source)
        done = self.lint("--diff")
        self.assertEqual(done.returncode, 1)
        self.assertIn("-half = torch.tensor(0.5, device='cuda')\n+half = torch.full((), 0.5, device='cuda')\n", done.stdout)
        self.assertEqual((self.folder / "read.py").read_text(), source)
        done = self.lint("--fix")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("Fixed 1 finding.", done.stdout)
        self.assertEqual((self.folder / "read.py").read_text(), "import torch\nhalf = torch.full((), 0.5, device='cuda')\n")


    def test_python_accepts_every_fixed_program_of_the_corpus(self):
        for path in (ROOT / "tests/lint/corpus").glob("*.py"):
            start, *programs = path.read_text().split("# %% ")
            for number, program in enumerate(programs):
                self.write(f"corpus/{path.stem}_{number}.py", start + "# " + program)
        before = {path: path.read_text() for path in self.folder.glob("corpus/*.py")}
        self.lint("--fix", "--exit-zero", "corpus")
        after = {path: path.read_text() for path in before}
        self.assertGreater(sum(before[path] != after[path] for path in before), 20)
        for path, source in after.items():
            compile(source, str(path), "exec")


class Hook(WithFolder):
    def test_the_hook_of_this_repository_runs_a_command_that_is_there(self):
        hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
        hook = dict(line[2:].split(": ", 1) for line in hooks.splitlines())
        self.assertEqual(list(hook), ["id", "name", "description", "entry", "language", "types"])
        self.assertEqual((hook["id"], hook["language"], hook["types"]), ("tutti-lint", "system", "[python]"))
        program, *words = hook["entry"].split()
        self.assertEqual(program, pathlib.Path(COMMAND).name)
        self.assertEqual(subprocess.run([COMMAND, *words, "read.py"], cwd=self.folder, capture_output=True, timeout=120).returncode, 1)


class Measured(WithFolder):
    """Findings joined to a trace that was recorded on an H200."""

    def setUp(self):
        super().setUp()
        self.trace = self.folder / "trace"
        self.trace.mkdir()
        shutil.copy(ROOT / "tests/trace/recorded/training_before.tutti-trace", self.trace)
        self.victim = (ROOT / "tests/trace/victims/torch_training.py").read_text()

    def lines(self, *words):
        """[(path, line, rule, waits)]"""
        done = self.lint("--format", "json", "--with", "trace", *words)
        self.assertEqual(done.stderr, "")
        self.json = json.loads(done.stdout)
        return [(each["path"], each["line"], each["rule"], each["measured"]["waits"]) for each in self.json["findings"]]

    def test_findings_are_ranked_by_what_they_cost(self):
        self.write("elsewhere/deep/torch_training.py", self.victim)
        found = self.lines("elsewhere", "read.py")
        self.assertEqual([line for _, line, _, _ in found], [25, 26, 34, 35, 37, 42, 46, 3])
        self.assertEqual([rule for _, _, rule, _ in found[:5]], ["blocking-copy", "blocking-copy", "item", "branch", "synchronize"])
        gains = [each["measured"]["gain_ns"] for each in self.json["findings"]]
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertGreater(gains[0], 0)
        self.assertEqual(found[-1], ("read.py", 3, "item", 0), "not reached: last")
        self.assertEqual(self.json["measured"]["steps"], 24)
        self.assertEqual(self.json["measured"]["other_waits"], [])

    def test_text_says_what_was_measured_and_what_was_not_reached(self):
        self.write("torch_training.py", self.victim)
        done = self.lint("--with", "trace", "torch_training.py", "read.py")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)
        words = " ".join(done.stdout.split())
        self.assertRegex(words, r"measured: 24 waits, 1.0 a step, 1.15 ms; left the GPU idle for [\d.]+ us a step; without it [\d.]+ us less a step")
        self.assertIn("measured: not reached (no wait was seen here)", words)
        self.assertIn("8 findings in 2 files of 2, 5 in loops or steps, 7 reached", words)

    def test_lines_that_have_moved_are_found_and_lines_that_have_changed_are_not(self):
        self.write("torch_training.py", "# more\n" * 7 + self.victim.replace("losses.append(loss.item())", "losses.append(loss.item() * 2)"))
        waits = {line: waits for _, line, _, waits in self.lines("torch_training.py")}
        self.assertEqual(waits[32], 24)
        self.assertEqual(waits[41], 0)

    def test_what_nothing_in_the_file_tells_to_be_a_tensor_is_found_by_its_wait(self):
        shutil.copy(ROOT / "tests/trace/recorded/torch_waits.tutti-trace", self.trace)
        (self.trace / "training_before.tutti-trace").unlink()
        source = (ROOT / "tests/trace/victims/torch_waits.py").read_text()
        self.write("torch_waits.py", source.replace("weights = torch.randn(2048, 2048, device=device)", "from weights import weights"))
        found = {line: rule for _, line, rule, waits in self.lines("torch_waits.py") if waits}
        self.assertEqual(found, {18: "item", 28: "blocking-copy", 32: "item", 35: "item", 36: "nonzero", 38: "synchronize",
                                 41: "item", 42: "item", 43: "to-cpu", 47: "synchronize", 50: "query-loop"})  # fmt: skip
        self.assertEqual(self.json["measured"]["other_waits"], [])

    def test_waits_where_nothing_was_found_are_listed(self):
        shutil.copy(ROOT / "tests/trace/recorded/torch_waits.tutti-trace", self.trace)
        (self.trace / "training_before.tutti-trace").unlink()
        source = (ROOT / "tests/trace/victims/torch_waits.py").read_text()
        self.write("torch_waits.py", source.replace("        pass\n", "        busy(y)\n"))
        self.assertNotIn(50, [line for _, line, _, _ in self.lines("torch_waits.py")])
        self.assertEqual([each["place"] for each in self.json["measured"]["other_waits"]], ["torch_waits.py:50"])
        done = self.lint("--with", "trace", "torch_waits.py")
        self.assertIn("Of the trace, waits where nothing was found:\n  torch_waits.py:50: query loop, 7.59 ms\n", done.stdout)

    def test_allowed_and_ignored_findings_stay_so(self):
        self.write("torch_training.py", self.victim.replace("torch.cuda.synchronize()\n\n", "torch.cuda.synchronize()  # tutti: allow sync (the end)\n\n"))
        found = self.lines("--ignore", "reads", "torch_training.py")
        self.assertEqual([line for _, line, _, _ in found], [25, 26, 35, 42, 46])

    def test_a_file_that_might_be_another_is_not_given_its_waits(self):
        self.write("a/torch_training.py", self.victim)
        self.write("b/torch_training.py", self.victim)
        self.assertEqual(sum(waits for _, _, _, waits in self.lines("a", "b")), 0)
        self.assertIn("7 places of the trace are in no file that was read.", self.lint("--with", "trace", "a", "b").stdout)

    def test_sarif_and_annotations_say_it_too(self):
        self.write("torch_training.py", self.victim)
        run, = json.loads(self.lint("--with", "trace", "--format", "sarif", "torch_training.py").stdout)["runs"]
        self.assertEqual(run["results"][0]["properties"]["measured"]["waits"], 24)
        self.assertIn("measured: 24 waits, 1.0 a step", run["results"][0]["message"]["text"])
        self.assertIn("measured: 24 waits, 1.0 a step", self.lint("--with", "trace", "--format", "github", "torch_training.py").stdout)

    def test_what_is_no_trace_is_told(self):
        done = self.lint("--with", "nowhere", "read.py")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("there is no trace in 'nowhere'", done.stderr)


class Pages(unittest.TestCase):
    def rules(self):
        return [line.split()[0] for line in lint("--rules").stdout.splitlines() if line.startswith("  ")]

    def test_every_rule_has_its_page_and_every_page_its_rule(self):
        pages = {path.stem: path.read_text() for path in (ROOT / "docs/lint").glob("*.md")}
        self.assertEqual(set(pages), set(self.rules()))
        for rule, page in pages.items():
            self.assertEqual(page, lint("--page", rule).stdout, "make docs writes it")

    def test_the_page_about_lint_links_every_rule(self):
        page = (ROOT / "docs/lint.md").read_text()
        for rule in self.rules():
            self.assertIn(f"[{rule}](lint/{rule}.md)", page)

    def test_explanations_fit_80_columns(self):
        self.assertLessEqual(max(map(len, lint("--rules").stdout.splitlines())), 80)
        for rule in self.rules():
            done = lint("--explain", rule)
            self.assertEqual(done.returncode, 0)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)

    def test_the_screen_of_the_readme_is_what_it_prints(self):
        readme = (ROOT / "README.md").read_text()
        program = readme.split("<!-- train.py -->\n```python\n")[1].split("```")[0]
        screen = readme.split("$ tutti lint train.py\n")[1].split("```")[0]
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "train.py").write_text(program)
            self.assertEqual(lint("train.py", cwd=folder).stdout, screen)


if __name__ == "__main__":
    unittest.main()
