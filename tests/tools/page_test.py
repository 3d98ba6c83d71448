#!/usr/bin/env python3
"""The page of a sync report in a real browser. usage: page_test.py COMMAND PROGRAM [SCREENSHOT_FOLDER]

PROGRAM is the training loop beside this file. Exits with 77 where chromium, its driver or selenium is missing.
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
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
from selenium.webdriver.common.action_chains import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

COMMAND, PROGRAM = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
SCREENSHOTS = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
MANY = 100_000
HERE = pathlib.Path(__file__).resolve().parent


def report_of(folder, name, steps, **settings):
    path = folder / f"{name}.html"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")} | {"TUTTI_SIM_GPUS": "1"} | settings
    command = [COMMAND, "run", "--sync-report", "html", "--output", str(path), "--", PROGRAM, str(steps)]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    return path


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.few = report_of(cls.folder, "few", 1)
        cls.some = report_of(cls.folder, "some", 30, TUTTI_SYNC_STACKS="1")
        cls.many = report_of(cls.folder, "many", 7000)

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for switch in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,800", "--disable-gpu"):
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        cls.addClassCleanup(cls.browser.quit)

    def open(self, path, theme="light", width=1280, height=800):
        self.prefer(theme)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        began = time.monotonic()
        self.browser.get(path.as_uri())
        self.until(lambda: self.browser.execute_script("return document.documentElement.dataset.ready") == "true")
        self.until(lambda: self.lanes("drawn") is not None)
        self.load_seconds = time.monotonic() - began
        self.assertEqual(self.browser.get_log("browser"), [])

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [], "the console is not silent")

    def prefer(self, theme):
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        )

    def until(self, holds):
        WebDriverWait(self.browser, 60, poll_frequency=0.02).until(lambda _: holds())

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def lanes(self, name):
        return self.browser.execute_script("return document.getElementById('lanes').dataset[arguments[0]]", name)

    def drawn(self):
        """What the canvas shows, once the frame that was asked for is there."""
        self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )
        return float(self.lanes("from")), float(self.lanes("to"))

    def report(self):
        return json.loads(self.browser.execute_script("return document.getElementById('report').textContent"))

    def visible_rows(self):
        return [row for row in self.browser.find_elements(By.CSS_SELECTOR, "tbody tr") if row.is_displayed()]

    def row_of(self, words):
        (row,) = [row for row in self.browser.find_elements(By.CSS_SELECTOR, "tbody tr") if words in row.text]
        return row

    def colours(self):
        """How many pixels of the canvas have the colour of each kind."""
        return self.browser.execute_script(
            """
            const canvas = document.querySelector("canvas"), style = getComputedStyle(document.documentElement);
            const copy = document.createElement("canvas");  // the browser complains of canvases that are read back
            [copy.width, copy.height] = [canvas.width, canvas.height];
            const pen = copy.getContext("2d", {willReadFrequently: true});
            pen.drawImage(canvas, 0, 0);
            const pixels = pen.getImageData(0, 0, copy.width, copy.height).data;
            const found = {};
            for (const kind of ["run", "enqueue", "demand", "flow", "scope", "chosen"]) {
              const value = parseInt(style.getPropertyValue("--" + kind).trim().slice(1), 16);
              found[kind] = 0;
              for (let i = 0; i < pixels.length; i += 4) {
                if ((pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]) === value) ++found[kind];
              }
            }
            return found;
            """
        )

    def shoot(self, name):
        if SCREENSHOTS is not None:
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            self.browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))


class Loading(Page):
    def test_needs_nothing_but_itself(self):
        self.open(self.few)
        asked_for = self.browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertEqual([name for name in asked_for if not name.startswith("data:")], [])

    def test_shows_every_site_of_the_report_in_its_order(self):
        self.open(self.some)
        sites = self.report()["sites"]
        shown = [row.find_element(By.CSS_SELECTOR, "button").text for row in self.visible_rows()]
        self.assertEqual(shown, [site["site"] for site in sites])
        for row, site in zip(self.visible_rows(), sites):
            fixes = [site["fix"] or "", *(part for each in site["may_be"] for part in (each["if"], each["fix"]))]
            for part in (site["reason"], site["class"], site["evidence"], *fixes):
                self.assertIn(part, row.text)

    def test_draws_work_enqueues_syncs_and_scopes(self):
        self.open(self.some)
        found = {}
        for _ in range(8):  # from afar, then near one sync after the other
            self.drawn()
            for kind, pixels in self.colours().items():
                found[kind] = found.get(kind, 0) + pixels
            self.find("#next-sync").click()
        for kind in ("run", "enqueue", "demand", "scope"):
            self.assertGreater(found[kind], 0, f"{kind}: {found}")

    def test_ties_every_blocked_sync_to_the_work_it_waited_for(self):
        self.open(self.few)
        report = self.report()
        names, lanes = report["timeline"]["names"], report["timeline"]["lanes"]
        bars = [lane["bars"] for lane in lanes]
        tied = 0
        for lane in bars:
            for bar, other, work in lane["waited_for"]:
                self.assertEqual(names[lane["what"][bar]], "demand")
                self.assertEqual(lanes[other]["kind"], "stream")
                self.assertEqual(names[bars[other]["what"][work]], "run")
                end = lane["begin_ns"][bar] + lane["length_ns"][bar]
                self.assertLessEqual(bars[other]["begin_ns"][work] + bars[other]["length_ns"][work], end)
                tied += 1
        self.assertEqual(tied, report["demand"]["blocked"])
        self.drawn()
        self.assertEqual(int(self.lanes("lines")), tied)

    def test_without_a_timeline_it_says_how_to_get_one(self):
        page = self.few.read_text()
        start = page.index(',"timeline":') + len(',"timeline":')
        bare = self.folder / "bare.html"
        bare.write_text(page[:start] + "null}\n" + page[page.index("</script>", start) :])
        self.prefer("light")
        self.browser.get(bare.as_uri())
        self.until(lambda: self.browser.execute_script("return document.documentElement.dataset.ready") == "true")
        self.assertIn("TUTTI_SYNC_REPORT=html", self.find("#no-timeline").text)
        self.assertFalse(self.find("#timeline").is_displayed())
        self.visible_rows()[0].click()
        self.assertEqual(self.find("#sites").get_attribute("data-selected"), "0")


class Sites(Page):
    def test_filter_keeps_the_sites_that_have_every_word(self):
        self.open(self.some)
        box = self.find("#filter")
        box.send_keys("control flow less")
        self.assertEqual(self.find("#sites").get_attribute("data-visible"), "1")
        (row,) = self.visible_rows()
        self.assertIn("control flow", row.text)
        box.send_keys(" zebra")
        self.assertEqual(self.visible_rows(), [])
        self.assertEqual(self.find("#none").text, "No site fits this filter.")
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(Keys.DELETE)
        self.assertEqual(len(self.visible_rows()), len(self.report()["sites"]))

    def check_choice(self, words):
        report = self.report()
        index = next(i for i, site in enumerate(report["sites"]) if words in (site["class"], site["reason"]))
        start, end = self.drawn()
        self.assertEqual(self.lanes("site"), str(index))
        (row,) = self.browser.find_elements(By.CSS_SELECTOR, "tr[aria-selected=true]")
        self.assertIn(words, row.text)
        begins, ends = [], []
        for bars in (lane["bars"] for lane in report["timeline"]["lanes"]):
            for bar, site in enumerate(bars["site"]):
                if site == index:
                    begins.append(bars["begin_ns"][bar])
                    ends.append(bars["begin_ns"][bar] + bars["length_ns"][bar])
        self.assertEqual(len(begins), report["sites"][index]["calls"])
        self.assertLessEqual(start, min(begins))
        self.assertGreaterEqual(end, max(ends))
        self.assertLess(end - start, max((max(ends) - min(begins)) * 1.2, 2000), "it is not zoomed to the syncs")

    def test_a_click_on_a_site_highlights_its_syncs_and_zooms_to_them(self):
        self.open(self.some)
        self.drawn()
        self.assertEqual(self.colours()["chosen"], 0)
        self.row_of("coalescible").click()
        self.check_choice("coalescible")
        self.assertGreater(self.colours()["chosen"], 0, "nothing is highlighted")
        self.row_of("all devices sync").click()  # a single call
        self.check_choice("all devices sync")

    def test_a_click_on_a_site_shows_who_called_and_another_takes_its_place(self):
        self.open(self.some)
        stacks = lambda: [box for box in self.browser.find_elements(By.CSS_SELECTOR, ".stack") if box.is_displayed()]
        self.assertEqual(stacks(), [])
        for words in ("coalescible", "control flow"):
            row = self.row_of(words)
            row.click()
            (shown,) = stacks()
            self.assertEqual(shown.find_element(By.XPATH, "ancestor::tr"), row)
            (site,) = [site for site in self.report()["sites"] if site["class"] == words]
            self.assertEqual(len(shown.find_elements(By.CSS_SELECTOR, "li")), len(site["stack"]))
            self.assertIn("main", shown.text)
            self.assertIn("training.cc:", shown.text)
        self.shoot("stack")

    def test_a_site_can_be_chosen_with_the_keyboard(self):
        self.open(self.some)
        self.row_of("coalescible").find_element(By.CSS_SELECTOR, "button").send_keys(Keys.ENTER)
        self.check_choice("coalescible")


class Timeline(Page):
    def test_wheel_zooms_around_the_pointer(self):
        self.open(self.some)
        start, end = self.drawn()
        canvas = self.find("canvas")
        ActionChains(self.browser).scroll_from_origin(ScrollOrigin.from_element(canvas), 0, -300).perform()
        nearer_start, nearer_end = self.drawn()
        self.assertLess(nearer_end - nearer_start, 0.7 * (end - start))
        self.assertGreater(nearer_start, start)
        self.assertLess(nearer_end, end)
        ActionChains(self.browser).scroll_from_origin(ScrollOrigin.from_element(canvas), 0, 3000).perform()
        ActionChains(self.browser).scroll_from_origin(ScrollOrigin.from_element(canvas), 0, 3000).perform()
        self.assertEqual(self.drawn(), (start, end))

    def test_buttons_and_keys_zoom_and_move(self):
        self.open(self.some)
        start, end = self.drawn()
        self.find("#zoom-in").send_keys(Keys.ENTER)
        near = self.drawn()
        self.assertAlmostEqual((near[1] - near[0]) / (end - start), 0.5, places=6)
        self.find("#later").send_keys(Keys.ENTER)
        self.assertGreater(self.drawn()[0], near[0])
        self.find("#earlier").click()
        self.find("#zoom-out").click()
        self.assertEqual(self.drawn(), (start, end))
        canvas = self.find("canvas")
        canvas.send_keys("+")
        canvas.send_keys("+")
        self.assertAlmostEqual((self.drawn()[1] - self.drawn()[0]) / (end - start), 0.25, places=6)
        before = self.drawn()[0]
        canvas.send_keys(Keys.ARROW_RIGHT)
        self.assertGreater(self.drawn()[0], before)
        canvas.send_keys("0")
        self.assertEqual(self.drawn(), (start, end))

    def test_dragging_moves_what_is_seen(self):
        self.open(self.some)
        self.find("#zoom-in").click()
        self.find("#zoom-in").click()
        start, end = self.drawn()
        ActionChains(self.browser).drag_and_drop_by_offset(self.find("canvas"), -200, 0).perform()
        moved = self.drawn()
        self.assertGreater(moved[0], start)
        self.assertAlmostEqual(moved[1] - moved[0], end - start, delta=1)
        self.assertIn(self.lanes("bar"), (None, ""), "a drag is not a click")

    def test_a_click_on_a_bar_shows_what_is_known_of_it(self):
        self.open(self.some)
        self.find("#next-sync").click()
        self.drawn()
        chosen = self.lanes("bar")
        self.assertRegex(chosen, r"^\d+:\d+$")
        box = self.find("#lanes").rect
        place = (float(self.lanes("markX")) - box["width"] / 2, float(self.lanes("markY")) - box["height"] / 2)
        self.find("canvas").send_keys(Keys.ESCAPE)
        self.drawn()
        self.assertEqual((self.lanes("bar"), self.find("#details").text), ("", ""))
        ActionChains(self.browser).move_to_element_with_offset(self.find("#lanes"), *map(round, place)).click().perform()
        self.drawn()
        self.assertEqual(self.lanes("bar"), chosen)
        lane, bar = map(int, chosen.split(":"))
        report = self.report()
        timeline, shown = report["timeline"], self.find("#details").text
        bars = timeline["lanes"][lane]["bars"]
        for part in (timeline["names"][bars["name"][bar]], timeline["places"][bars["place"][bar]], timeline["lanes"][lane]["name"]):
            self.assertIn(part, shown)
        self.assertIn("Class", shown)
        self.find("#next-sync").click()
        self.assertNotEqual(self.lanes("bar"), chosen)


class Looks(Page):
    def ground(self):
        return self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")

    def test_follows_the_systems_theme_and_the_button(self):
        self.open(self.few, theme="dark")
        dark = self.ground()
        self.assertEqual(self.find("html").get_attribute("data-theme"), "dark")
        self.prefer("light")
        self.until(lambda: self.find("html").get_attribute("data-theme") == "light")
        light = self.ground()
        self.assertNotEqual(light, dark)
        self.find("#theme").send_keys(Keys.ENTER)
        self.assertEqual(self.ground(), dark)
        self.drawn()
        corner = "return Array.from(document.querySelector('canvas').getContext('2d').getImageData(2, 40, 1, 1).data).slice(0, 3)"
        self.assertEqual("rgb({}, {}, {})".format(*self.browser.execute_script(corner)), dark, "the canvas kept its colours")

    def test_fits_wide_and_narrow_windows(self):
        for name, path in (("few", self.few), ("many", self.many)):
            for theme in ("light", "dark"):
                for width, height in ((1280, 800), (420, 800)):
                    with self.subTest(name=name, theme=theme, width=width):
                        self.open(path, theme, width, height)
                        self.drawn()
                        self.shoot(f"{name}-{theme}-{width}")
                        wide = self.browser.execute_script("return document.documentElement.scrollWidth")
                        self.assertLessEqual(wide, width, "the page is wider than the window")
                        self.row_of("coalescible").click()
                        self.find("#next-sync").click()
                        self.drawn()
                        self.browser.execute_script("window.scrollTo(0, 0)")
                        self.shoot(f"{name}-{theme}-{width}-chosen")
                        self.browser.execute_script("document.getElementById('sites').scrollIntoView()")
                        self.shoot(f"{name}-{theme}-{width}-sites")


class Trace(Page):
    def test_a_trace_of_another_program_is_shown_with_its_lines(self):
        folder = self.folder / "traced"
        folder.mkdir()
        shutil.copy(HERE.parent / "trace/recorded/training_before.tutti-trace", folder)
        subprocess.run([COMMAND, "trace", "--read", folder], check=True, capture_output=True, timeout=120)
        for theme, width in (("light", 1280), ("dark", 400)):
            self.open(folder / "report.html", theme, width)
            self.drawn()
            self.shoot(f"trace-{theme}-{width}")
        self.assertEqual(len(self.visible_rows()), len(self.report()["sites"]))
        row = self.row_of("deferrable")
        self.assertIn("losses.append(loss.item())", row.text)
        row.click()
        self.find("#next-sync").click()
        self.drawn()
        self.assertIn("Waited for", self.find("#details").text)
        self.assertIn("torch_training.py:34", self.find("#details").text)


class Size(Page):
    def test_a_hundred_thousand_events_load_and_move_at_once(self):
        self.open(self.many)
        self.drawn()
        lanes = self.report()["timeline"]["lanes"]
        events = sum(len(lane["bars"]["begin_ns"]) for lane in lanes)
        self.assertGreaterEqual(events, MANY)
        self.assertLess(self.load_seconds, 20)  # half a second on an idle machine
        frames = [float(self.lanes("frame"))]
        # Never more than a bar a pixel and kind, in every row.
        self.assertLess(int(self.lanes("drawn")), 1280 * 5 * sum(lane["rows"] for lane in lanes))
        for _ in range(14):
            self.find("#zoom-in").click()
            self.drawn()
            frames.append(float(self.lanes("frame")))
        self.row_of("coalescible").click()
        self.drawn()
        frames.append(float(self.lanes("frame")))
        print(f"{events} events: loaded in {self.load_seconds:.2f} s, slowest frame {max(frames):.1f} ms")
        self.assertLess(max(frames), 1000)  # 20 ms on an idle machine


if __name__ == "__main__":
    unittest.main()
