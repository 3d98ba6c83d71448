// Puts the parts together.
const report = JSON.parse(document.getElementById("report").textContent);
const root = document.documentElement;
document.getElementById("program").textContent = report.program;
document.title = "Sync report " + report.program;
showTotals(report);

let timeline = null, flames = null;
const sites = makeSites(report, (index) => {
  sites.mark(index);
  if (timeline === null) return;
  timeline.choose(index);
  document.getElementById("timeline").scrollIntoView({block: "nearest"});
});

// What is known of a bar.
function showDetails(lane, bar, all) {
  const box = document.getElementById("details");
  box.textContent = "";
  if (lane === null || bar < 0) {
    sites.mark(-1);
    timeline.leave(-1);
    return;
  }
  const {names, places} = report.timeline;
  const what = names[lane.raw.what[bar]], isWait = what === "demand" || what === "flow";
  const list = element("dl");
  const add = (name, value) => list.append(element("dt", {}, name), element("dd", {}, value));
  const words = {run: "Ran", enqueue: "Enqueued", demand: "Sync", flow: "Flow", scope: "Scope",
    "roll-call": "Waited for others in", exchange: "Exchanged in"};
  add(words[what], names[lane.raw.name[bar]]);
  if (isWait && names[lane.raw.detail[bar]]) add("Value of", names[lane.raw.detail[bar]]);
  if (lane.raw.range && names[lane.raw.range[bar]]) add("NVTX range", names[lane.raw.range[bar]]);
  if (lane.raw.stream && names[lane.raw.stream[bar]]) add("Stream or event", names[lane.raw.stream[bar]]);
  if ((what === "roll-call" || what === "exchange") && names[lane.raw.detail[bar]]) add("Processes", names[lane.raw.detail[bar]]);
  add("At", element("span", {class: "place"}, places[lane.raw.place[bar]]));
  add("On", lane.name);
  add("Time", humanTime(lane.end[bar] - lane.begin[bar]) + ", from " + humanTime(lane.begin[bar]) + " on");
  if (lane.toLane[bar] >= 0) {
    const other = all.lanes[lane.toLane[bar]], work = lane.toBar[bar];
    const after = lane.end[bar] - other.end[work];
    add("Waited for", names[other.raw.name[work]] + " on " + other.name + ", which took " +
      humanTime(other.end[work] - other.begin[work]) + " and ended " + humanTime(Math.abs(after)) +
      (after < 0 ? " after the wait" : " before the wait did"));
  } else if (isWait) {
    add("Waited for", lane.end[bar] - lane.begin[bar] < 1000 ? "nothing: it was done" : "no work that was recorded");
  }
  const site = lane.raw.site[bar];
  if (site >= 0) {
    const {class: kind, evidence, fix, may_be: mayBe} = report.sites[site];
    add("Class", kind + ": " + evidence);
    if (fix) add("Fix", fix);
    for (const each of mayBe) add("If " + each.if, each.fix);
    sites.mark(site);
    timeline.leave(site);
  }
  box.append(list);
}

function setTheme(theme) {
  root.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
  if (timeline !== null) timeline.readColours();
  if (flames !== null) flames.readColours();
}
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let isChosen = false;
prefersDark.addEventListener("change", () => { if (!isChosen) setTheme(prefersDark.matches ? "dark" : "light"); });
document.getElementById("theme").addEventListener("click", () => {
  isChosen = true;
  setTheme(root.dataset.theme === "dark" ? "light" : "dark");
});
setTheme(prefersDark.matches ? "dark" : "light");

if (report.timeline === null) {
  document.getElementById("no-timeline").hidden = false;
} else {
  const legend = document.getElementById("legend");
  const about = {run: "work", enqueue: "enqueue", demand: "demand sync", flow: "flow", scope: "named scope",
    "roll-call": "waiting for other processes", exchange: "exchange between processes"};
  for (const [kind, text] of Object.entries(about)) {
    if (!report.timeline.names.includes(kind)) continue;
    const mark = element("i");
    mark.style.background = "var(--" + kind + ")";
    legend.append(element("span", {}, mark, text));
  }
  document.getElementById("timeline").hidden = false;
  timeline = makeTimeline(report.timeline, showDetails);
  const {dropped} = report.timeline;
  if (dropped > 0) {
    document.getElementById("timeline").append(
      element("p", {class: "about"}, humanCount(dropped) + " events did not fit into the journal and are not drawn."));
  }
}
if (report.flames && report.flames.tree.waits[0] + report.flames.tree.warm_up_waits[0] > 0) {
  flames = makeFlames(report.flames, (index) => {
    sites.mark(index);
    if (timeline !== null) timeline.choose(index);
  });
}
root.dataset.ready = "true";
