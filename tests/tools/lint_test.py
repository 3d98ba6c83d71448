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
        self.write("broken.py", "import torch\nx = ) torch\n")
        self.write("book.ipynb", "{}")
        log = json.loads(self.lint("--format", "sarif", ".", "book.ipynb").stdout)
        self.assertEqual(len(log["runs"][0]["invocations"][0]["toolExecutionNotifications"]), 2)
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

    def test_notes_are_annotations_and_notifications(self):
        self.write("read.py", READ + "z = x.item() + ) x.item(\n")
        lines = self.lint("--format", "github").stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[1], "::warning file=read.py,line=4,title=tutti lint%3A note::does not parse here; the statement is left out")
        run, = json.loads(self.lint("--format", "sarif").stdout)["runs"]
        invocation, = run["invocations"]
        self.assertTrue(invocation["executionSuccessful"])
        notification, = invocation["toolExecutionNotifications"]
        self.assertEqual((notification["level"], notification["message"]["text"]), ("warning", "does not parse here; the statement is left out"))
        place = notification["locations"][0]["physicalLocation"]
        self.assertEqual((place["artifactLocation"]["uri"], place["region"]["startLine"]), ("read.py", 4))
        self.write("book.ipynb", "{}")
        run, = json.loads(self.lint("--format", "sarif", "book.ipynb").stdout)["runs"]
        self.assertFalse(run["invocations"][0]["executionSuccessful"])

    def test_sources_that_are_not_utf8_give_valid_json(self):
        (self.folder / "latin.py").write_bytes(READ.encode() + b"print('f\xfcr', x)\n")
        self.assertIn(("latin.py", "print"), self.found("latin.py"))

    def test_lines_of_windows_are_shown_without_their_end(self):
        (self.folder / "windows.py").write_bytes(READ.replace("\n", "\r\n").encode())
        self.assertIn("    y = x.sum().item()\n", self.lint("windows.py").stdout)
        found, = json.loads(self.lint("--format", "json", "windows.py").stdout)["findings"]
        self.assertEqual(found["source"], "y = x.sum().item()")


class Input(WithFolder):
    def test_standard_input_is_read(self):
        def lint_input(*words):
            return subprocess.run([COMMAND, "lint", *words, "-"], input=READ, cwd=self.folder, text=True, capture_output=True, timeout=120)

        done = lint_input()
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("<stdin>:3:5: item (certain)\n", done.stdout)
        done = lint_input("--fix")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("standard input cannot be rewritten", " ".join(done.stderr.split()))
        self.assertLessEqual(max(map(len, done.stderr.splitlines())), 80, done.stderr)

    def test_what_is_not_python_is_told_and_is_no_all_clear(self):
        self.write("book.ipynb", json.dumps({"cells": [{"source": ["import torch\n"]}], "nbformat": 4}))
        self.write("notes.txt", "Not Python, but prose: about torch.\n")
        self.write("photo", "torch\0\1\2")
        for name, what in (("book.ipynb", "a notebook"), ("notes.txt", "it does not parse"), ("photo", "it does not parse")):
            with self.subTest(name=name):
                done = self.lint(name)
                self.assertEqual((done.returncode, done.stderr), (2, ""))
                self.assertIn(f"{name}:1:1: note: not Python source: {what}", " ".join(done.stdout.split()))
                self.assertNotIn("No host sync found", done.stdout)
                self.assertIn("No Python source was read", done.stdout)
                done = self.lint("--diff", name)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("not Python source", done.stderr)
        done = self.lint("book.ipynb", "read.py")
        self.assertEqual(done.returncode, 2)
        self.assertIn("1 finding in 1 file of 1", done.stdout)
        found = json.loads(self.lint("--format", "json", "book.ipynb").stdout)
        self.assertEqual(found["files"], 0)
        self.assertEqual([(note["path"], note["line"]) for note in found["notes"]], [("book.ipynb", 0)])
        self.assertEqual(self.lint("--format", "github", "book.ipynb").returncode, 2)

    def test_python_of_another_name_is_read(self):
        self.write("script", READ)
        self.write("broken", "#!/usr/bin/env python3\n" + READ + "z = (\n")
        self.assertEqual(self.found("script", "broken"), [("script", "item"), ("broken", "item")])

    def test_a_folder_without_python_says_so(self):
        self.write("empty/notes.txt", "nothing")
        done = self.lint("empty")
        self.assertEqual((done.returncode, done.stdout), (0, "No Python source was read: none is in 'empty'.\n"))
        done = self.lint("--format", "github", "empty")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("No Python source was read", done.stderr)

    def test_a_file_that_cannot_be_read_leaves_the_others(self):
        self.write("d/a.py", READ)
        (self.folder / "d/b.py").symlink_to("/proc/self/mem")
        self.write("d/c.py", "import torch\nx = torch.tensor(0.5, device='cuda')\n")
        done = self.lint("d")
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertIn("d/b.py:1:1: note: cannot be read\n", done.stdout)
        self.assertIn("2 findings in 2 files of 2", done.stdout)
        self.assertIn("; 1 not read.", done.stdout)
        found = json.loads(self.lint("--format", "json", "d/b.py", "d/a.py").stdout)
        self.assertEqual([each["path"] for each in found["findings"]], ["d/a.py"])
        self.assertEqual([(note["path"], note["line"]) for note in found["notes"]], [("d/b.py", 0)])
        done = self.lint("--fix", "d")
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertIn("Fixed 1 finding.", done.stdout)

    def test_a_folder_that_cannot_be_read_is_told(self):
        self.write("d/locked/a.py", READ)
        (self.folder / "d/locked").chmod(0)
        self.addCleanup((self.folder / "d/locked").chmod, 0o700)
        without_power = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        if without_power and (shutil.which("setpriv") is None or subprocess.run([*without_power, "true"], capture_output=True).returncode != 0):
            self.skipTest("root reads every folder here")
        for word in ("d", "d/locked"):
            done = subprocess.run([*without_power, COMMAND, "lint", "read.py", word], cwd=self.folder, text=True, capture_output=True, timeout=120)
            self.assertEqual((done.returncode, done.stderr), (2, ""))
            self.assertIn("d/locked:1:1: note: the folder cannot be read\n", done.stdout)
            self.assertIn("1 finding in 1 file of 1", done.stdout)
        done = subprocess.run([*without_power, COMMAND, "lint", "read.py", "d/locked/a.py"], cwd=self.folder, text=True, capture_output=True, timeout=120)
        self.assertIn("d/locked/a.py:1:1: note: cannot be read\n", done.stdout)
        self.assertIn("1 finding in 1 file of 1", done.stdout)


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
            self.assertIn(text, " ".join(done.stderr.split()))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no device is full")
    def test_output_that_cannot_be_written_is_a_mistake(self):
        for words in (["read.py"], ["--rules"], ["--explain", "item"], ["--page", "item"]):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                done = subprocess.run([COMMAND, "lint", *words], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
                self.assertEqual((done.returncode, done.stderr), (2, "tutti: error: the output could not be written\n"))


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

    def test_exclude_is_matched_from_the_folder_of_pyproject(self):
        for name in ("sub/a.py", "sub/deep/b.py", "src/gen/c.py"):
            self.write(name, READ)
        for patterns in ('["sub/*", "src/gen"]', '["./sub/", "gen"]', '["sub", "src/gen/c.py"]'):
            self.write("pyproject.toml", f"[tool.tutti.lint]\nexclude = {patterns}\n")
            for folder, words in ((".", ["."]), (".", [self.folder]), ("sub", ["."]), ("sub/deep", [".."]), ("src", ["../sub", "."])):
                with self.subTest(patterns=patterns, folder=folder, words=words):
                    done = lint("--format", "json", *words, cwd=self.folder / folder)
                    found = [pathlib.Path(each["path"]).name for each in json.loads(done.stdout)["findings"]]
                    self.assertEqual(found, ["read.py"] if folder == "." else [])
        done = lint(".", cwd=self.folder / "sub")
        self.assertEqual((done.returncode, done.stdout), (0, "No Python source was read: what is in '.' is excluded.\n"))

    def test_a_link_to_the_folder_of_pyproject_is_that_folder(self):
        self.write("real/sub/a.py", READ)
        self.write("real/pyproject.toml", '[tool.tutti.lint]\nexclude = ["sub/*"]\n')
        (self.folder / "link").symlink_to("real")
        self.assertEqual(self.found("link"), [])
        self.assertEqual(self.found("real", "link/sub"), [])

    def test_force_exclude_leaves_out_named_files_too(self):
        self.write("sub/a.py", READ)
        self.write("pyproject.toml", '[tool.tutti.lint]\nexclude = ["sub"]\n')
        for name in ("sub/a.py", str(self.folder / "sub/a.py")):
            self.assertEqual([rule for _, rule in self.found(name)], ["item"])
            self.assertEqual(self.found("--force-exclude", name), [])
        self.assertEqual(self.found("--force-exclude", "sub/a.py", "read.py"), [("read.py", "item")])
        done = self.lint("--force-exclude", "sub/a.py")
        self.assertEqual((done.returncode, done.stdout), (0, "No Python source was read: 'sub/a.py' is excluded.\n"))

    def test_a_mistake_in_pyproject_is_named(self):
        for text, said in (
            ("[tool.tutti.lint]\nselect = ['itme']\n", "pyproject.toml: tool.tutti.lint.select: no rule or category is named 'itme'; did you mean 'item'?"),
            ("[tool.tutti]\nlint = 3\n", "pyproject.toml: tool.tutti.lint: a table was expected"),
            ("[tool]\ntutti = 3\n", "pyproject.toml: tool.tutti: a table was expected"),
            ("[tool.tutti.lnit]\nselect = []\n", "tool.tutti has no 'lnit'; did you mean 'lint'?"),
            ("[tool.tutti.lint]\nmin-confidence = 3\n", "tool.tutti.lint.min-confidence: a string was expected"),
            ("[tool.tutti.lint]\nselct = []\n", "tool.tutti.lint has no 'selct'; did you mean 'select'?"),
            ("[tool.tutti.lint]\nselect = 'item'\n", "a list of strings was expected"),
            ("[tool.tutti.lint]\nmin-confidence = 'sure'\n", "'sure' is no confidence"),
            ("[tool.tutti.lint\n", "pyproject.toml: line 1"),
        ):
            self.write("pyproject.toml", text)
            done = self.lint("read.py")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, " ".join(done.stderr.split()))

    def test_folders_leave_out_what_is_ignored_hidden_or_an_environment(self):
        for name in (".hidden/a.py", "venv/pyvenv.cfg", "venv/lib/a.py", "__pycache__/a.py", "out/a.py", "src/generated_a.py", "src/kept.py", "notes.txt"):
            self.write(name, READ)
        self.write(".gitignore", "/out/\ngenerated_*\n")
        self.assertEqual(self.found(), [("read.py", "item"), ("src/kept.py", "item")])
        self.assertEqual(self.found("out/a.py"), [("out/a.py", "item")], "what is named is read")

    def test_the_repository_above_a_folder_says_what_is_ignored_in_it(self):
        for name in ("src/kept.py", "src/out/a.py", "src/deep/out/b.py", "src/generated_a.py", "src/deep/own.py", "src/deep/made.py"):
            self.write(name, READ)
        self.write(".git/HEAD", "")
        self.write(".gitignore", "/src/out/\n/own.py\ngenerated_*\nmade.py\n")
        self.write("src/.gitignore", "!/deep/made.py\n")
        (self.folder.parent / (self.folder.name + "_link")).symlink_to(self.folder / "src")
        link = self.folder.parent / (self.folder.name + "_link")
        self.addCleanup(link.unlink)
        kept = ["deep/made.py", "deep/out/b.py", "deep/own.py", "kept.py"]
        for where, word in ((".", "src"), (".", "src/"), (".", "."), ("src", "."), ("src/deep", ".."), (".", self.folder / "src"), (".", link)):
            with self.subTest(where=where, word=word):
                done = lint("--format", "json", word, cwd=self.folder / where)
                found = [os.path.realpath(self.folder / where / each["path"]) for each in json.loads(done.stdout)["findings"]]
                inside = [os.path.relpath(each, self.folder.resolve() / "src") for each in found]
                self.assertEqual([each for each in inside if each != "../read.py"], kept)


class Allowed(WithFolder):
    def allowed(self, text):
        """Lines that are found nevertheless, and notes."""
        self.write("read.py", "import torch\nx = torch.ones(3, device='cuda')\n" + text)
        found = json.loads(self.lint("--format", "json", "read.py").stdout)
        return [each["line"] for each in found["findings"]], [note["text"] for note in found["notes"]]

    def test_on_any_line_of_a_statement_or_alone_above_it(self):
        lines = ["print(\n", '    "loss",\n', "    x.sum().item(),\n", ")\n"]
        comment = "# tutti: allow sync (the end)\n"
        for i in range(len(lines)):
            with self.subTest(behind=i):
                said = [*lines[:i], lines[i].rstrip("\n") + "  " + comment, *lines[i + 1 :]]
                self.assertEqual(self.allowed("".join(said)), ([], []))
                self.assertEqual(self.allowed("if True:\n" + "".join("    " + line for line in said) + "y = x.max().item()\n"), ([8], []))
            with self.subTest(above=i):
                self.assertEqual(self.allowed("".join([*lines[:i], comment, *lines[i:]])), ([], []))
        self.assertEqual(self.allowed(comment + "# fmt: off\n" + "".join(lines)), ([], []), "above another comment")
        self.assertEqual(self.allowed(comment + "\n" + "".join(lines)), ([6 + 1], []), "an empty line between")

    def test_of_a_compound_statement_the_header_only(self):
        body = "    y = x.sum().item()\n"
        comment = "  # tutti: allow sync (once)\n"
        alone = comment.strip() + "\n"
        for header in ("if x.any():\n", "while x.any():\n", "if (\n    x.any()\n):\n", "if False:\n    pass\nelif (\n    x.any()\n):\n"):
            lines = header.splitlines(keepends=True)
            with self.subTest(header=header):
                said = "".join([*lines[:-1], lines[-1].rstrip("\n") + comment, body])
                self.assertEqual(self.allowed(said), ([2 + len(lines) + 1], []))
        self.assertEqual(self.allowed(alone + "if (\n    x.any()\n):\n" + body), ([7], []))
        self.assertEqual(self.allowed("if (\n    x.any()\n):\n" + body.rstrip("\n") + comment), ([4], []))
        self.assertEqual(self.allowed("def f(x):\n    pass" + comment + "if x.any():\n    pass\n"), ([5], []))
        self.assertEqual(self.allowed(alone + "def f(a):\n" + body), ([5], []))

    def test_a_comment_that_means_it_and_says_it_otherwise_is_told(self):
        for comment in ("# tutti: allow (x)", "# tutti: allow sync: done", "# tutti: allow-sync (x)", "# tutti allow sync (x)", "# Tutti: Allow Sync (x)",
                        "# tutti:allow sync (x)", "# tutti: allow syncs (x)", "# tutti: ignore", "# noqa  # tutti: allow (x)", "# tutti: allow sync ()"):  # fmt: skip
            with self.subTest(comment=comment):
                found, notes = self.allowed(f"y = x.sum().item()  {comment}\n")
                self.assertEqual((found, len(notes)), ([3], 1), notes)
                self.assertIn("'# tutti: allow sync (why)'", notes[0])
        for comment in ("# what tutti: would say", "# tuttifrutti", "# tutti's own"):
            self.assertEqual(self.allowed(f"y = 1  {comment}\n"), ([], []), comment)


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

    def test_diff_says_how_many_findings_stay(self):
        self.write("more.py", READ + "print(x)\n")
        done = self.lint("--diff")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "tutti: 3 findings, none of which --fix rewrites\n"))
        done = self.lint("--diff", "read.py")
        self.assertEqual(done.stderr, "tutti: 1 finding, which --fix does not rewrite\n")
        self.write("half.py", "import torch\nhalf = torch.tensor(0.5, device='cuda')\n")
        self.assertEqual(self.lint("--diff").stderr, "tutti: 4 findings, 1 of which --fix rewrites\n")
        self.write("clean.py", "import torch\n")
        self.assertEqual(self.lint("--diff", "clean.py").stderr, "")

    def test_diff_can_be_applied(self):
        source = "import torch\nhalf = torch.tensor(0.5, device='cuda')\n"
        for where, word in ((".", "sub/half.py"), (".", str(self.folder / "sub/half.py")), ("sub", "./half.py"), (".", "sub/../sub/half.py")):
            self.write("sub/half.py", source)
            difference = lint("--diff", word, cwd=self.folder / where).stdout
            self.assertNotIn("//", difference)
            subprocess.run(["patch", "-p1"], input=difference, cwd=self.folder / where, text=True, check=True, capture_output=True)
            self.assertIn("torch.full", (self.folder / "sub/half.py").read_text())
        self.write("sub/half.py", source)
        self.write("beside/x.py", "")
        lines = lint("--diff", "../sub/half.py", cwd=self.folder / "beside").stdout.splitlines()
        self.assertEqual(lines[:2], [f"--- a{self.folder.resolve()}/sub/half.py", f"+++ b{self.folder.resolve()}/sub/half.py"])

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
        self.write("pyproject.toml", '[tool.tutti.lint]\nexclude = ["read.py"]\n')
        self.assertEqual(subprocess.run([COMMAND, *words, "read.py"], cwd=self.folder, capture_output=True, timeout=120).returncode, 0)
        self.assertIn(f"entry: {hook['entry']}, ", (ROOT / "docs/lint.md").read_text())


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
