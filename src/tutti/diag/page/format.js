// Figures as the text report prints them.
function humanTime(ns) {
  for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
    if (ns >= unit) return (ns / unit).toFixed(ns / unit < 10 ? 2 : 1) + " " + name;
  }
  return Math.round(ns) + " ns";
}

// Of a device whose work was not recorded nothing is known.
function idleTime(ns) {
  return ns === null ? "\u2013" : humanTime(ns);
}

// A time on the axis: as many digits as the distance between two ticks needs.
function tickTime(ns, step) {
  const [unit, name] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "us"] : [1, "ns"];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / step) - 1e-9)));
  return (ns / unit).toFixed(ns === 0 ? 0 : digits) + " " + name;
}

function humanCount(count) {
  return count.toLocaleString("en-US");
}

function withoutProcess(device) {
  return device.replace("/job:localhost/replica:0/task:0", "");
}

// element("p", {class: "fix"}, "text", child)
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
