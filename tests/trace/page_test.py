#!/usr/bin/env python3
"""The page of a trace in a real browser. usage: page_test.py COMMAND [SCREENSHOT_FOLDER]

Exits with 77 where chromium, its driver or selenium is missing.
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
if importlib.util.find_spec("selenium") is None:
    missing.append("python3-selenium")
if missing:
    print("skipped: missing", ", ".join(missing))
    sys.exit(SKIPPED)

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

COMMAND = os.path.abspath(sys.argv.pop(1))
SCREENSHOTS = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
RECORDED = pathlib.Path(__file__).resolve().parent / "recorded"
MEASURES = {"time": "time_ns", "idle": "idle_ns"}
COLUMNS = ("frame", "parent", "waits", "time_ns", "warm_up_waits", "warm_up_ns", "idle_ns", "site")


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for switch in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,800", "--disable-gpu"):
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        cls.addClassCleanup(cls.browser.quit)

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [], "the console is not silent")

    def page_of(self, name):
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            shutil.copy(RECORDED / f"{name}.tutti-trace", folder)
            subprocess.run([COMMAND, "trace", "--read", folder], check=True, capture_output=True, timeout=120)
        return folder / "report.html"

    def open(self, path, theme="light", width=1280, height=800):
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        )
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.browser.get(path.as_uri())
        ready = "return document.documentElement.dataset.ready"
        WebDriverWait(self.browser, 60, poll_frequency=0.02).until(lambda _: self.browser.execute_script(ready) == "true")
        report = json.loads(self.browser.execute_script("return document.getElementById('report').textContent"))
        self.report, self.flames = report, report["flames"]
        self.tree, self.frames = self.flames["tree"], self.flames["frames"]
        self.drawn()

    def changed(self, **flames):
        """A page whose flame graph has these fields."""
        page = self.page_of("training_before").read_text()
        mark = '<script type="application/json" id="report">'
        before, _, rest = page.partition(mark)
        report, _, after = rest.partition("</script>")
        report = json.loads(report)
        report["flames"] |= flames
        path = self.folder / "changed.html"
        path.write_text(before + mark + json.dumps(report).replace("<", "\\u003c") + "</script>" + after)
        return path

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def drawn(self):
        """What the flame graph shows, once the frame that was asked for is there."""
        self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )
        return dict(self.browser.execute_script("return {...document.getElementById('flame-rows').dataset}"))

    def shoot(self, name):
        if SCREENSHOTS is not None:
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            self.browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def function(self, node):
        return self.frames["function"][self.tree["frame"][node]]

    def where(self, node):
        return self.frames["where"][self.tree["frame"][node]]

    def children(self, node, measure="time"):
        value = self.tree[MEASURES[measure]]
        inside = [i for i, parent in enumerate(self.tree["parent"]) if parent == node and i != 0 and value[i] > 0]
        return sorted(inside, key=lambda i: (-value[i], i))

    def keys(self, *keys):
        self.find("#flame-rows canvas").send_keys(*keys)
        return self.drawn()

    def choose(self, measure):
        self.find(f"input[value={measure}]").click()
        return self.drawn()


class Flames(Page):
    def test_every_wait_is_in_the_stack_of_its_line(self):
        self.open(self.page_of("training_before"))
        sites, tree = self.report["sites"], self.tree
        leaves = [i for i, site in enumerate(tree["site"]) if site >= 0]
        self.assertEqual(sum(tree["waits"][i] + tree["warm_up_waits"][i] for i in leaves), sum(site["calls"] for site in sites))
        for number, site in enumerate(sites):
            of_site = [i for i in leaves if tree["site"][i] == number]
            self.assertEqual(sum(tree["time_ns"][i] + tree["warm_up_ns"][i] for i in of_site), site["blocked_ns"])
            self.assertEqual(sum(tree["idle_ns"][i] for i in of_site), site["device_idle_ns"])
            for leaf in of_site:
                stack = []
                while leaf != 0:
                    leaf = tree["parent"][leaf]
                    stack.append(self.where(leaf))
                self.assertIn(site["site"], stack)
        for node in range(1, len(tree["parent"])):
            self.assertLess(tree["parent"][node], node)
            self.assertLessEqual(tree["time_ns"][node], tree["time_ns"][tree["parent"][node]])

    def test_keys_go_from_frame_to_frame_and_zoom(self):
        self.open(self.page_of("training_before"))
        at = self.keys(Keys.ARROW_DOWN)["at"]
        self.assertEqual(at, "0")
        node = 0
        while inside := self.children(node):
            if len(inside) > 1:
                break
            node = inside[0]
            self.assertEqual(self.keys(Keys.ARROW_DOWN)["at"], str(node))
        self.assertGreater(len(inside), 1, "no frame of this trace has two in it")
        self.assertEqual(self.keys(Keys.ARROW_DOWN)["at"], str(inside[0]))
        self.assertEqual(self.keys(Keys.ARROW_RIGHT)["at"], str(inside[1]))
        self.assertEqual(self.keys(Keys.ARROW_LEFT)["at"], str(inside[0]))
        self.assertEqual(self.keys(Keys.ENTER)["root"], str(inside[0]))
        self.assertEqual(self.keys(Keys.ARROW_RIGHT)["at"], str(inside[0]), "what is not shown was gone to")
        shown = self.keys(Keys.ARROW_UP)
        self.assertEqual((shown["root"], shown["at"]), (str(node), str(node)), "a frame outside of what is shown is shown whole")
        self.assertEqual(self.keys(Keys.ENTER, "0")["root"], "0")

    def test_hovering_tells_what_is_known_of_a_frame_and_a_click_zooms(self):
        self.open(self.page_of("training_before"))
        node = next(i for i in range(len(self.tree["parent"])) if "torch_training.py:34" in self.where(i))
        path = [node]
        while path[-1] != 0:
            path.append(self.tree["parent"][path[-1]])
        shown = self.keys(Keys.ARROW_DOWN)
        for parent, child in zip(path[::-1], path[-2::-1]):
            self.keys(Keys.ARROW_DOWN)
            for _ in range(self.children(parent).index(child)):
                shown = self.keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.drawn()["at"], str(node))
        shown = self.drawn()
        # The same with the pointer: away, and to where it is drawn.
        canvas = self.find("#flame-rows canvas")
        size = canvas.rect
        place = (float(shown["markX"]) - size["width"] / 2, float(shown["markY"]) - size["height"] / 2)
        ActionChains(self.browser).move_to_element(self.find("h1")).perform()
        ActionChains(self.browser).move_to_element_with_offset(canvas, *map(round, place)).perform()
        self.assertEqual(self.drawn()["at"], str(node))
        told = self.find("#flame-details").text
        waits = self.tree["waits"][node]
        for part in (self.function(node), self.where(node), "losses.append(loss.item())", f"{waits:,} waits", "waited (", "GPU idle caused"):
            self.assertIn(part, told)
        ActionChains(self.browser).click().perform()
        self.assertEqual(self.drawn()["root"], str(node))
        self.shoot("flames-zoomed")
        # Its wait, which fills the width below it, is the site of that line.
        (leaf,) = self.children(node)
        self.keys(Keys.ARROW_DOWN)
        self.keys(Keys.ENTER)
        self.assertEqual(self.find("#sites").get_attribute("data-selected"), str(self.tree["site"][leaf]))
        self.find("#flame-all").click()
        self.assertEqual(self.drawn()["root"], "0")

    def test_widths_are_time_or_idle(self):
        self.open(self.page_of("training_before"))
        for measure in ("idle", "time"):
            self.assertEqual(self.choose(measure)["measure"], measure)
            node = 0
            while len(inside := self.children(node, measure)) == 1:
                node = inside[0]
                self.keys(Keys.ARROW_DOWN)
            told = self.find("#flame-details").text
            share = " (100.0 %)"
            self.assertIn(("waited" if measure == "time" else "idle caused") + share, told)
            self.find("h1").click()
        self.assertTrue(self.find("#flame-warm-up").is_enabled())

    def test_the_warm_up_is_apart(self):
        self.open(self.page_of("training_before"))
        self.assertIn(f"{self.tree['waits'][0]:,} waits", self.find("#flame-details").text)
        self.find("#flame-warm-up").click()
        both = self.tree["waits"][0] + self.tree["warm_up_waits"][0]
        self.assertIn(f"{both:,} waits", self.find("#flame-details").text)

    def test_without_the_gpus_work_there_is_nothing_to_switch_to(self):
        self.open(self.page_of("torch_waits"))
        self.assertTrue(self.find("#flames").is_displayed())
        self.assertFalse(self.find("#flame-measure").is_displayed())
        self.assertNotIn("idle", self.find("#flame-details").text)

    def test_where_nothing_waited_there_is_no_graph(self):
        self.open(self.changed(tree={name: [-1 if name == "site" else 0] for name in COLUMNS}))
        self.assertFalse(self.find("#flames").is_displayed())

    def test_where_no_wait_left_the_gpu_idle_the_page_says_so(self):
        self.open(self.page_of("training_before"))
        self.open(self.changed(tree=self.tree | {"idle_ns": [0] * len(self.tree["idle_ns"])}))
        self.choose("idle")
        self.assertEqual(self.find("#flame-none").text, "The GPU was never idle because of a wait.")
        self.assertFalse(self.find("#flame-rows").is_displayed())
        self.choose("time")
        self.assertTrue(self.find("#flame-rows").is_displayed())
        self.assertGreater(int(self.drawn()["drawn"]), 3)

    def test_a_program_without_python_shows_native_frames(self):
        self.open(self.page_of("cuda_waits"))
        named = {self.function(i) for i in range(len(self.tree["parent"]))}
        self.assertIn("__libc_start_main", named)  # its file, which has the other names, is not here

    def test_fits_wide_and_narrow_windows(self):
        for name in ("training_before", "torch_threads", "cuda_waits"):
            for theme in ("light", "dark"):
                for width in (1280, 500):
                    with self.subTest(name=name, theme=theme, width=width):
                        self.open(self.page_of(name), theme, width, 800)
                        self.shoot(f"{name}-{theme}-{width}")
                        self.browser.execute_script("document.getElementById('flames').scrollIntoView()")
                        self.shoot(f"{name}-{theme}-{width}-flames")
                        wide = self.browser.execute_script("return document.documentElement.scrollWidth")
                        self.assertLessEqual(wide, width, "the page is wider than the window")

    def test_a_hundred_thousand_frames_are_drawn_at_once(self):
        many = 100_000
        tree = {"frame": [0] * many, "parent": [0] + [(i - 1) // 3 for i in range(1, many)], "waits": [1] * many,
                "time_ns": [1] * many, "warm_up_waits": [0] * many, "warm_up_ns": [0] * many, "idle_ns": [0] * many,
                "site": [-1] * many}  # fmt: skip
        for i in range(many - 1, 0, -1):
            tree["time_ns"][tree["parent"][i]] += tree["time_ns"][i]
        self.open(self.changed(tree=tree))
        shown = self.drawn()
        self.assertLess(int(shown["drawn"]), 1280 * 12)
        self.assertLess(float(shown["frame"]), 1000)  # 20 ms on an idle machine
        print(f"{many} frames: {shown['drawn']} drawn in {shown['frame']} ms")


if __name__ == "__main__":
    unittest.main()
