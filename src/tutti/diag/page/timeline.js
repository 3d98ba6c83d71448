// The canvas: draws what is visible, merges what is narrower than a pixel, and moves.
const axisHeight = 22;
const smallFont = "11px system-ui, 'DejaVu Sans', sans-serif";
const mostLines = 400;
const shortest = 50;  // nanoseconds across the canvas at most zoom

function makeTimeline(timeline, onPick) {
  const all = prepareLanes(timeline);
  const box = document.getElementById("lanes");
  const canvas = box.querySelector("canvas");
  const pen = canvas.getContext("2d");
  const note = document.getElementById("note");
  const state = {from: 0, to: all.length, site: -1, siteGroups: [], lane: -1, bar: -1};
  let width = 0, height = 0, left = 0, colours = {}, isAsked = false;

  const x = (time) => left + (time - state.from) / (state.to - state.from) * (width - left);
  const timeAt = (px) => state.from + (px - left) / (width - left) * (state.to - state.from);
  const rowTop = (lane, row) => axisHeight + lane.top + laneSpace / 2 + row * rowHeight - box.scrollTop;

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ground", "panel", "line", "ink", "faint", "chosen", "on-bar", "on-pale", ...kinds]) {
      colours[name] = style.getPropertyValue("--" + name).trim();
    }
    redraw();
  }

  function resize() {
    const wanted = axisHeight + all.height;
    const most = Math.max(160, Math.min(420, window.innerHeight * 0.45));
    box.style.height = Math.min(wanted, most) + 2 + "px";
    width = box.clientWidth;
    height = box.clientHeight;
    pen.font = smallFont;
    const widest = all.lanes.reduce((most, lane) => Math.max(most, pen.measureText(lane.name).width), 0);
    left = Math.round(Math.min(Math.max(widest + 18, 70), width * 0.4));
    document.getElementById("extent").style.height = Math.max(0, wanted - height) + "px";
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

  function drawAxis() {
    pen.fillStyle = colours.panel;
    pen.fillRect(0, 0, width, axisHeight);
    const span = state.to - state.from;
    const rough = span / Math.max(1, (width - left) / 110);
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = Math.max(1, [1, 2, 5, 10].find((n) => n * power >= rough) * power);
    pen.font = smallFont;
    pen.textBaseline = "middle";
    for (let tick = Math.ceil(state.from / step) * step; tick <= state.to; tick += step) {
      const at = Math.round(x(tick)) + 0.5;
      pen.fillStyle = colours.line;
      pen.fillRect(at, 0, 1, height);
      pen.fillStyle = colours.faint;
      if (at + 60 < width) pen.fillText(tickTime(tick, step), at + 4, axisHeight / 2);
    }
  }

  function label(lane, bar, from, to, top, kind) {
    const start = Math.max(from, left) + 4;
    const room = Math.min(to, width) - start - 2;
    if (room < 22) return;
    const text = timeline.names[lane.raw.name[bar]];
    const most = Math.floor(room / 6.2);
    pen.fillStyle = kind === "scope" || kind === "enqueue" ? colours["on-pale"] : colours["on-bar"];
    pen.fillText(text.length <= most ? text : text.slice(0, Math.max(1, most - 1)) + "\u2026", start, top + (rowHeight - 2) / 2 + 0.5);
  }

  // Bars narrower than a pixel that begin in the same pixel are one, as strong as the time they take.
  function drawGroup(lane, row, group, kind, colour) {
    const top = rowTop(lane, row), pixel = (state.to - state.from) / (width - left);
    const faintest = kind === "demand" || kind === "flow" ? 0.75 : 0.35;
    let drawn = 0;
    let i = lowerBound(group.end, state.from);
    while (i < group.bars.length && group.begin[i] <= state.to) {
      const from = x(group.begin[i]), to = x(group.end[i]);
      pen.fillStyle = colour;
      if (to - from >= 1) {
        const start = Math.max(from, left - 1), end = Math.min(to, width + 1);
        pen.globalAlpha = 1;
        pen.fillRect(start, top, Math.max(1, end - start - (to - from > 4 ? 1 : 0)), rowHeight - 2);
        label(lane, group.bars[i], from, to, top, kind);
        ++i;
      } else {
        const column = Math.floor(from);
        let next = lowerBound(group.begin, timeAt(column + 1), i + 1);
        if (next - 1 > i && x(group.end[next - 1]) - x(group.begin[next - 1]) >= 1) --next;
        pen.globalAlpha = Math.min(1, faintest + (1 - faintest) * (group.before[next] - group.before[i]) / pixel);
        pen.fillRect(column, top, 1, rowHeight - 2);
        i = next;
      }
      ++drawn;
    }
    pen.globalAlpha = 1;
    return drawn;
  }

  function drawLine(lane, bar, colour, wide) {
    const other = all.lanes[lane.toLane[bar]], work = lane.toBar[bar];
    const fromX = x(lane.end[bar]), fromTop = rowTop(lane, lane.raw.row[bar]);
    const toX = x(other.end[work]), toTop = rowTop(other, other.raw.row[work]);
    const down = toTop > fromTop;
    const fromY = down ? fromTop + rowHeight - 2 : fromTop, toY = down ? toTop : toTop + rowHeight - 2;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.lineWidth = wide ? 2 : 1;
    pen.beginPath();
    pen.moveTo(fromX, fromY);
    pen.bezierCurveTo(fromX, (fromY + toY) / 2, toX, (fromY + toY) / 2, toX, toY);
    pen.stroke();
    pen.fillRect(toX - 2, toY - 2, 4, 4);
  }

  // Lines from waits to the work they waited for: all in view where they are few, else those that were asked for.
  function drawLines() {
    const low = lowerBound(waitBegins, state.from - longestWait), high = lowerBound(waitBegins, state.to);
    const inView = [];
    for (let i = low; i < high && inView.length <= mostLines; ++i) {
      const wait = all.waits[i], lane = all.lanes[wait.lane];
      if (lane.toLane[wait.bar] >= 0 && lane.end[wait.bar] >= state.from) inView.push(wait);
    }
    const isMany = inView.length > mostLines;
    let count = 0;
    const ofSite = state.site < 0 ? [] : all.bySite.get(state.site);
    const chosen = ofSite.filter((wait) => wait.begin <= state.to &&
      all.lanes[wait.lane].end[wait.bar] >= state.from && all.lanes[wait.lane].toLane[wait.bar] >= 0);
    const every = Math.ceil(chosen.length / mostLines);
    if (!isMany && state.site < 0) {
      for (const wait of inView) drawLine(all.lanes[wait.lane], wait.bar, colours.faint, false);
      count = inView.length;
    } else {
      for (let i = 0; i < chosen.length; i += every, ++count) {
        drawLine(all.lanes[chosen[i].lane], chosen[i].bar, colours.chosen, false);
      }
    }
    if (state.bar >= 0 && all.lanes[state.lane].toLane[state.bar] >= 0) {
      drawLine(all.lanes[state.lane], state.bar, colours.chosen, true);
      ++count;
    }
    note.textContent = isMany && state.site < 0
      ? "More than " + mostLines + " waits in view: zoom in, or choose a site, to see what they waited for."
      : every > 1 ? "One line in " + every + " is drawn: zoom in for the others." : "";
    return count;
  }

  function drawNames() {
    pen.fillStyle = colours.ground;
    pen.fillRect(0, axisHeight, left, height);
    for (const lane of all.lanes) {
      const top = rowTop(lane, 0) - laneSpace / 2;
      pen.fillStyle = colours.line;
      pen.fillRect(0, Math.round(top + laneHeight(lane)), width, 1);
      pen.fillStyle = lane.isStream ? colours.run : colours.ink;
      pen.save();
      pen.beginPath();
      pen.rect(0, axisHeight, left - 6, height);
      pen.clip();
      pen.fillText(lane.name, 8, top + laneSpace / 2 + (rowHeight - 2) / 2);
      pen.restore();
    }
    pen.fillStyle = colours.line;
    pen.fillRect(left - 1, 0, 1, height);
  }

  function drawMark() {
    if (state.bar < 0) {
      delete box.dataset.markX;
      delete box.dataset.markY;
      return;
    }
    const lane = all.lanes[state.lane], top = rowTop(lane, lane.raw.row[state.bar]);
    const from = x(lane.begin[state.bar]), to = Math.max(from + 1, x(lane.end[state.bar]));
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2;
    pen.strokeRect(Math.max(from, left - 4) - 1, top - 1, Math.min(to, width + 4) - Math.max(from, left - 4) + 2, rowHeight);
    box.dataset.markX = (Math.max(from, left) + Math.min(to, width)) / 2;
    box.dataset.markY = top + (rowHeight - 2) / 2;
  }

  function draw() {
    const began = performance.now();
    pen.clearRect(0, 0, width, height);
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, width, height);
    drawAxis();
    pen.save();
    pen.beginPath();
    pen.rect(left, axisHeight, width - left, height - axisHeight);
    pen.clip();
    let drawn = 0;
    for (const lane of all.lanes) {
      const top = rowTop(lane, 0);
      if (top > height || top + laneHeight(lane) < axisHeight) continue;
      lane.groups.forEach((groups, row) => {
        for (const group of groups) drawn += drawGroup(lane, row, group, group.kind, colours[group.kind]);
      });
    }
    for (const {lane, row, group} of state.siteGroups) drawGroup(lane, row, group, "demand", colours.chosen);
    const lines = drawLines();
    drawMark();
    pen.restore();
    drawNames();
    Object.assign(box.dataset, {from: state.from, to: state.to, lines, drawn, frame: (performance.now() - began).toFixed(1)});
  }

  function show(from, to) {
    let span = Math.max(shortest, to - from);
    if (span > all.length * (1 - 1e-9)) span = all.length;  // all of it is exactly all, whatever the rounding
    state.from = Math.min(Math.max((from + to - span) / 2, 0), all.length - span);
    state.to = state.from + span;
    redraw();
  }
  function zoom(factor, around = (state.from + state.to) / 2) {
    const span = Math.min(all.length, Math.max(shortest, (state.to - state.from) * factor));
    const part = (around - state.from) / (state.to - state.from);
    show(around - part * span, around + (1 - part) * span);
  }
  function move(part) {
    const by = (state.to - state.from) * part;
    show(state.from + by, state.to + by);
  }

  function pick(lane, bar) {
    state.lane = lane;
    state.bar = bar;
    box.dataset.bar = bar < 0 ? "" : lane + ":" + bar;
    if (bar >= 0) bringIntoView(all.lanes[lane]);
    onPick(lane < 0 ? null : all.lanes[lane], bar, all);
    redraw();
  }
  function bringIntoView(lane) {
    if (lane.top < box.scrollTop || lane.top + laneHeight(lane) > box.scrollTop + height - axisHeight) box.scrollTop = lane.top;
  }

  // The next wait of the chosen site, or of any.
  function step(by) {
    const list = state.site >= 0 ? all.bySite.get(state.site) || [] : all.waits;
    if (list.length === 0) return;
    let at = list.findIndex((wait) => wait.lane === state.lane && wait.bar === state.bar);
    if (at < 0) {
      at = list.findIndex((wait) => wait.begin >= state.from);
      if (at < 0) at = list.length;
      at = by > 0 ? at : at - 1;
    } else {
      at += by;
    }
    const wait = list[Math.min(Math.max(at, 0), list.length - 1)];
    const lane = all.lanes[wait.lane], length = lane.end[wait.bar] - lane.begin[wait.bar];
    const work = lane.toLane[wait.bar] >= 0 ? all.lanes[lane.toLane[wait.bar]].begin[lane.toBar[wait.bar]] : wait.begin;
    const from = Math.min(wait.begin, work), to = lane.end[wait.bar], space = Math.max(to - from, length, 1000) * 0.6;
    show(from - space, to + space);
    pick(wait.lane, wait.bar);
  }

  // Highlights the waits of a site and goes there.
  function choose(site) {
    state.site = all.bySite.has(site) ? site : -1;
    state.siteGroups = state.site < 0 ? [] : groupsOfSite(all, site);
    box.dataset.site = site;
    const waits = all.bySite.get(site) || [];
    if (waits.length > 0) {
      const from = waits[0].begin;
      const to = waits.reduce((end, wait) => Math.max(end, all.lanes[wait.lane].end[wait.bar]), from);
      const space = Math.max((to - from) * 0.05, 500);
      show(from - space, to + space);
      bringIntoView(all.lanes[waits[0].lane]);
    }
    redraw();
  }
  // A bar of another site was picked: the chosen one no longer counts.
  function leave(site) {
    if (state.site === site) return;
    state.site = -1;
    state.siteGroups = [];
    box.dataset.site = -1;
    redraw();
  }

  const waitBegins = Float64Array.from(all.waits, (wait) => wait.begin);
  const longestWait = all.waits.reduce((most, wait) => Math.max(most, all.lanes[wait.lane].end[wait.bar] - wait.begin), 0);
  listen();
  readColours();
  resize();

  function listen() {
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (isSideways) move((event.deltaX || event.deltaY) / 1000);
      else zoom(Math.exp(Math.max(-300, Math.min(300, event.deltaY)) * 0.002), timeAt(Math.max(left, event.offsetX)));
    }, {passive: false});

    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = {x: event.clientX, y: event.clientY, from: state.from, to: state.to, scroll: box.scrollTop, hasMoved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag === null) return;
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (!drag.hasMoved && Math.hypot(dx, dy) < 4) return;
      drag.hasMoved = true;
      canvas.classList.add("dragged");
      const by = dx / (width - left) * (drag.to - drag.from);
      show(drag.from - by, drag.to - by);
      box.scrollTop = drag.scroll - dy;
    });
    canvas.addEventListener("pointerup", (event) => {
      canvas.classList.remove("dragged");
      const isClick = drag !== null && !drag.hasMoved;
      drag = null;
      if (isClick) click(event.offsetX, event.offsetY);
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });

    canvas.addEventListener("keydown", (event) => {
      const actions = {ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.5), "=": () => zoom(0.5),
        "-": () => zoom(2), "0": () => show(0, all.length), n: () => step(1), p: () => step(-1),
        ArrowUp: () => { box.scrollTop -= 40; }, ArrowDown: () => { box.scrollTop += 40; }, Escape: () => pick(-1, -1)};
      const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    });
    const on = (id, action) => document.getElementById(id).addEventListener("click", action);
    on("zoom-in", () => zoom(0.5));
    on("zoom-out", () => zoom(2));
    on("earlier", () => move(-0.3));
    on("later", () => move(0.3));
    on("all", () => show(0, all.length));
    on("previous-sync", () => step(-1));
    on("next-sync", () => step(1));
    box.addEventListener("scroll", redraw);
    new ResizeObserver(resize).observe(document.body);
  }

  function click(px, py) {
    const lane = all.lanes.find((each) => {
      const top = rowTop(each, 0) - laneSpace / 2;
      return py >= Math.max(top, axisHeight) && py < top + laneHeight(each);
    });
    if (lane === undefined || px < left) return pick(-1, -1);
    const row = Math.min(lane.rows - 1, Math.max(0, Math.floor((py - rowTop(lane, 0)) / rowHeight)));
    const bar = barAt(lane, row, timeAt(px), (timeAt(px + 3) - timeAt(px)));
    pick(bar < 0 ? -1 : lane.number, bar);
  }

  return {choose, leave, readColours};
}
