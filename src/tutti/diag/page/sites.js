// The totals and the ranked table. What came from the program is put in as text, never as markup.
function showTotals(report) {
  const card = (title, about, sum) => {
    const list = element("dl");
    const add = (name, value) => list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    add("calls", humanCount(sum.calls));
    add("blocked", humanCount(sum.blocked));
    add("time blocked", humanTime(sum.blocked_ns));
    add("device idle caused", idleTime(sum.device_idle_ns));
    if (sum.refused > 0) add("refused", humanCount(sum.refused));
    const heading = element("h2", {}, title, element("span", {}, about));
    return element("article", {}, heading, list);
  };
  document.getElementById("totals").append(
    card("Demand", report.demand.about || "what the program asked for", report.demand),
    card("Flow", report.flow.about || "what the runtime did to keep going", report.flow));
}

// "Sum on /device:GPU:0"
function waitedFor(site) {
  const op = site.op ? site.op + (site.several_ops ? " and others" : "") : "";
  const device = site.device ? withoutProcess(site.device) : "";
  return op && device ? op + " on " + device : op || device;
}

// "in 3 of 10 calls: log the loss"
function allowance(site) {
  const some = site.allowed < site.calls ? "in " + humanCount(site.allowed) + " of " + humanCount(site.calls) + " calls" : "";
  return [some, site.allowed_because || "without a reason"].filter(Boolean).join(": ");
}

// Shown while the site is the chosen one.
function stackOf(site, about) {
  const list = element("ol");
  for (const frame of site.stack) {
    const name = frame.function || (frame.module || "") + "+0x" + frame.offset.toString(16);
    const item = element("li", {class: frame.tuttis ? "tuttis" : ""}, name);
    if (frame.file) item.append(" ", element("span", {class: "about"}, "at " + frame.file + ":" + frame.line));
    list.append(item);
  }
  const heading = site.longest_ns > 0 ? "Blocked longest, " + humanTime(site.longest_ns) + ", from" : "Called from";
  const box = element("div", {class: "stack"}, element("p", {}, heading), list);
  if (about) box.append(element("p", {class: "about"}, "Here " + about + "."));
  return box;
}

function makeSites(report, pick) {
  const section = document.getElementById("sites");
  const body = section.querySelector("tbody");
  const rows = report.sites.map((site, index) => {
    const name = element("button", {type: "button", class: "place"}, site.site);
    name.title = site.function;
    const wanted = waitedFor(site);
    const cell = element("td", {class: "wide"}, name);
    if (site.source) cell.append(element("p", {class: "source"}, site.source));
    cell.append(element("p", {class: "about"}, site.reason + (wanted ? ", waiting for " + wanted : "")));
    if (site.range) cell.append(element("p", {class: "about"}, "NVTX range " + site.range));
    cell.append(element("p", {}, site.evidence));
    if (site.allowed > 0) cell.append(element("p", {class: "allowed"}, allowance(site)));
    if (site.waiting > 0) cell.append(element("p", {}, humanCount(site.waiting) + " still waiting"));
    if (site.fix) cell.append(element("p", {class: "fix"}, site.fix));
    if (site.rule) cell.append(element("p", {class: "about"}, "rule " + site.rule + " of tutti lint"));
    for (const each of site.may_be) cell.append(element("p", {}, element("b", {}, "If " + each.if), " \u2192 ", each.fix));
    if (site.stack.length > 0) cell.append(stackOf(site, report.about_stacks));
    const kind = element("span", {class: "class " + (!site.fix && site.may_be.length === 0 ? "needed" : site.demand ? "demand" : "flow")}, site.class);
    const number = (label, text) => element("td", {class: "number", "data-label": label}, text);
    const row = element("tr", {"data-site": index, "aria-selected": "false"},
      element("td", {class: "rank"}, String(index + 1)), cell, element("td", {class: "kind"}, kind),
      number("calls", humanCount(site.calls)), number("blocked", humanCount(site.blocked)),
      number("time", humanTime(site.blocked_ns)), number("idle", idleTime(site.device_idle_ns)));
    row.addEventListener("click", () => pick(index));
    const words = [site.site, site.function, site.reason, site.class, site.evidence, site.fix || "", ...site.may_be.map((each) => each.fix), wanted, site.allowed_because || "", site.source || "", site.rule || "", site.range || "",
      site.demand ? "demand" : "flow"].join(" ").toLowerCase();
    body.append(row);
    return {row, words};
  });

  const none = document.getElementById("none");
  function filter(text) {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    let visible = 0;
    for (const {row, words} of rows) {
      const fits = wanted.every((word) => words.includes(word));
      row.hidden = !fits;
      visible += fits ? 1 : 0;
    }
    section.dataset.visible = visible;
    document.getElementById("shown").textContent =
      wanted.length === 0 ? String(rows.length) : visible + " of " + rows.length;
    none.hidden = visible > 0;
    none.textContent = rows.length === 0 ? "The host never waited." : "No site fits this filter.";
  }
  const box = document.getElementById("filter");
  box.addEventListener("input", () => filter(box.value));
  filter(box.value);

  return {
    mark(index) {
      for (const {row} of rows) row.setAttribute("aria-selected", String(Number(row.dataset.site) === index));
      section.dataset.selected = index;
    },
  };
}
