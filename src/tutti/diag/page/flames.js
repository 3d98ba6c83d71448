// The flame graph: stacks of waits from the outermost frame down, as wide as what was waited there, or as the GPU's idle time.
const flameHeight = 19;

// Children by weight, and where each lies in the whole, from 0 to 1. Rows hold those of a depth, from left to right.
function layOutFlames(tree, values) {
  const count = tree.parent.length;
  const children = Array.from({length: count}, () => []);
  for (let i = 1; i < count; ++i) {
    if (values[i] > 0) children[tree.parent[i]].push(i);
  }
  for (const each of children) each.sort((a, b) => values[b] - values[a] || a - b);
  const from = new Float64Array(count), to = new Float64Array(count), depth = new Int32Array(count).fill(-1);
  const rows = [];
  const open = values[0] > 0 ? [0] : [];
  to[0] = 1;
  depth[0] = 0;
  while (open.length > 0) {
    const node = open.pop();
    (rows[depth[node]] ||= []).push(node);
    let at = from[node];
    for (const child of children[node]) {
      from[child] = at;
      at += values[child] / values[0];
      to[child] = at;
      depth[child] = depth[node] + 1;
    }
    for (let i = children[node].length - 1; i >= 0; --i) open.push(children[node][i]);
  }
  return {children, from, to, depth,
    rows: rows.map((nodes) => ({nodes, from: nodes.map((node) => from[node]), to: nodes.map((node) => to[node])}))};
}

function makeFlames(flames, onPick) {
  const {tree, frames} = flames;
  const section = document.getElementById("flames");
  const box = document.getElementById("flame-rows");
  const canvas = box.querySelector("canvas");
  const pen = canvas.getContext("2d");
  const details = document.getElementById("flame-details");
  const warmUp = document.getElementById("flame-warm-up");
  const state = {measure: "time", root: 0, at: -1};
  let width = 0, height = 0, colours = {}, isAsked = false, values = [], all = null;

  const isIdle = () => state.measure === "idle";
  const hasWarmUp = () => warmUp.checked && !isIdle();
  const waitsOf = (node) => tree.waits[node] + (hasWarmUp() ? tree.warm_up_waits[node] : 0);
  const timeOf = (node) => tree.time_ns[node] + (hasWarmUp() ? tree.warm_up_ns[node] : 0);
  const x = (part) => (part - all.from[state.root]) / (all.to[state.root] - all.from[state.root]) * width;
  const rowTop = (depth) => depth * flameHeight - box.scrollTop;
  const named = (node) => {
    const frame = tree.frame[node], where = frames.where[frame];
    return frames.function[frame] + (where ? " \u00b7 " + where.slice(where.lastIndexOf("/") + 1) : "");
  };

  function measure() {
    values = isIdle() ? tree.idle_ns : tree.time_ns.map((_, node) => timeOf(node));
    all = layOutFlames(tree, values);
    const stays = state.root;
    state.root = 0;
    if (all.depth[state.at] === undefined || all.depth[state.at] < 0) state.at = -1;
    if (all.depth[stays] >= 0) state.root = stays;
    warmUp.disabled = isIdle();
    const empty = document.getElementById("flame-none");
    empty.hidden = values[0] > 0;
    empty.textContent = isIdle() ? "The GPU was never idle because of a wait." : "Nothing was waited for after the warm-up.";
    box.hidden = values[0] === 0;
    resize();
    tell();
  }

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ground", "panel", "line", "ink", "own", "library", "demand", "flow", "on-bar", "on-pale", "accent"]) {
      colours[name] = style.getPropertyValue("--" + name).trim();
    }
    colours.all = colours.line;
    redraw();
  }

  function resize() {
    const wanted = all.rows.length * flameHeight;
    box.style.height = Math.min(wanted, Math.max(160, Math.min(420, window.innerHeight * 0.5))) + 2 + "px";
    width = box.clientWidth;
    height = box.clientHeight;
    document.getElementById("flame-extent").style.height = Math.max(0, wanted - height) + "px";
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = height + "px";
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    redraw();
  }

  function redraw() {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  }

  function fitting(text, room) {
    const wide = pen.measureText(text).width;
    return wide <= room ? text : text.slice(0, Math.max(1, Math.floor(text.length * room / wide) - 1)) + "\u2026";
  }

  // What is narrower than a pixel is drawn once a pixel.
  function drawRow(row, top) {
    const end = all.to[state.root];
    const pixel = (end - all.from[state.root]) / Math.max(width, 1);
    let drawn = 0;
    // A hair to the right: neighbours touch, and sums are rounded.
    let i = lowerBound(row.to, all.from[state.root] + pixel / 4);
    while (i < row.nodes.length && row.from[i] < end - pixel / 4) {
      const node = row.nodes[i], left = Math.max(0, x(row.from[i])), right = Math.min(width, x(row.to[i]));
      const kind = frames.kind[tree.frame[node]];
      pen.fillStyle = colours[kind];
      pen.fillRect(left, top, Math.max(1, right - left - (right - left > 3 ? 1 : 0)), flameHeight - 1);
      if (right - left >= 28) {
        const text = named(node);
        pen.fillStyle = kind === "demand" || kind === "flow" ? colours["on-bar"] : colours["on-pale"];
        pen.fillText(fitting(text, right - left - 8), left + 4, top + flameHeight / 2);
      }
      ++drawn;
      i = right - left >= 1 ? i + 1 : Math.max(i + 1, lowerBound(row.to, row.from[i] + pixel, i));
    }
    return drawn;
  }

  function draw() {
    const began = performance.now();
    pen.clearRect(0, 0, width, height);
    pen.font = smallFont;
    pen.textBaseline = "middle";
    let drawn = 0;
    all.rows.forEach((row, depth) => {
      const top = rowTop(depth);
      if (top < height && top + flameHeight > 0) drawn += drawRow(row, top);
    });
    delete box.dataset.markX;
    delete box.dataset.markY;
    if (state.at >= 0) {
      const left = Math.max(0, x(all.from[state.at])), right = Math.min(width, x(all.to[state.at])), top = rowTop(all.depth[state.at]);
      pen.strokeStyle = colours.ink;
      pen.lineWidth = 2;
      pen.strokeRect(left + 1, top + 1, Math.max(2, right - left - 3), flameHeight - 3);
      Object.assign(box.dataset, {markX: (left + right) / 2, markY: top + flameHeight / 2});
    }
    Object.assign(box.dataset, {root: state.root, at: state.at, measure: state.measure, drawn, frame: (performance.now() - began).toFixed(1)});
  }

  // What is known of the frame under the pointer, or the one the keys have come to; else of the one that fills the width.
  function tell() {
    const node = state.at >= 0 ? state.at : state.root, frame = tree.frame[node];
    details.textContent = "";
    if (values[0] === 0) return;
    const part = (100 * values[node] / values[0]).toFixed(1) + " %";
    const figures = [humanCount(waitsOf(node)) + (waitsOf(node) === 1 ? " wait" : " waits"),
      humanTime(timeOf(node)) + " waited" + (isIdle() ? "" : " (" + part + ")")];
    if (flames.has_idle) figures.push(humanTime(tree.idle_ns[node]) + " of GPU idle caused" + (isIdle() ? " (" + part + ")" : ""));
    const name = element("p", {}, element("b", {}, frames.function[frame]));
    if (frames.where[frame]) name.append(" ", element("span", {class: "place"}, frames.where[frame]));
    details.append(name);
    if (frames.source[frame]) details.append(element("p", {class: "source"}, frames.source[frame]));
    details.append(element("p", {class: "about"}, figures.join(", ")));
  }

  function go(node) {
    if (node === state.at) return;
    state.at = node;
    tell();
    redraw();
  }
  function zoom(node) {
    state.root = node;
    tell();
    redraw();
    if (tree.site[node] >= 0) onPick(tree.site[node]);
  }

  function flameAt(px, py) {
    const row = all.rows[Math.floor((py + box.scrollTop) / flameHeight)];
    if (row === undefined) return -1;
    const part = all.from[state.root] + px / width * (all.to[state.root] - all.from[state.root]);
    const i = lowerBound(row.to, part);
    return i < row.nodes.length && row.from[i] <= part ? row.nodes[i] : -1;
  }

  // By keys: to the widest inside, outwards, or to the next of the same row.
  function step(down, aside) {
    const node = state.at >= 0 ? state.at : state.root;
    let next = node;
    if (state.at < 0) next = state.root;
    else if (down > 0) next = all.children[node].length > 0 ? all.children[node][0] : node;
    else if (down < 0) next = tree.parent[node];
    else {
      const {nodes} = all.rows[all.depth[node]];
      const other = nodes[lowerBound(all.rows[all.depth[node]].from, all.from[node]) + aside];
      const middle = other === undefined ? -1 : (all.from[other] + all.to[other]) / 2;
      if (middle > all.from[state.root] && middle < all.to[state.root]) next = other;
    }
    // Out of what is shown: show all that the frame holds.
    if (all.depth[next] < all.depth[state.root]) zoom(next);
    const top = all.depth[next] * flameHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + flameHeight > box.scrollTop + height) box.scrollTop = top + flameHeight - height;
    go(next);
  }

  canvas.addEventListener("pointermove", (event) => go(flameAt(event.offsetX, event.offsetY)));
  canvas.addEventListener("pointerleave", () => go(-1));
  canvas.addEventListener("click", (event) => {
    const node = flameAt(event.offsetX, event.offsetY);
    if (node >= 0) zoom(node);
  });
  canvas.addEventListener("keydown", (event) => {
    const actions = {ArrowDown: () => step(1, 0), ArrowUp: () => step(-1, 0), ArrowLeft: () => step(0, -1), ArrowRight: () => step(0, 1),
      Enter: () => zoom(state.at >= 0 ? state.at : state.root), " ": () => zoom(state.at >= 0 ? state.at : state.root),
      Escape: () => zoom(0), "0": () => zoom(0)};
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
  box.addEventListener("scroll", redraw);
  document.getElementById("flame-all").addEventListener("click", () => zoom(0));
  for (const input of section.querySelectorAll("input[name=measure]")) {
    input.addEventListener("change", () => {
      state.measure = input.value;
      measure();
    });
  }
  warmUp.addEventListener("change", measure);

  document.getElementById("flame-measure").hidden = !flames.has_idle;
  warmUp.parentElement.hidden = tree.warm_up_waits[0] === 0 || tree.waits[0] === 0;
  if (tree.waits[0] === 0) warmUp.checked = true;
  if (flames.left_out > 0) {
    section.append(element("p", {class: "about"}, humanCount(flames.left_out) + " frames that hold least are not drawn."));
  }
  section.hidden = false;
  measure();
  readColours();
  new ResizeObserver(resize).observe(document.body);
  return {readColours};
}
