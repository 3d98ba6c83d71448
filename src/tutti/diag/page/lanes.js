// The lanes as arrays that can be searched by time. Bars of one row do not overlap, so begins and ends both rise.
const kinds = ["scope", "enqueue", "run", "exchange", "roll-call", "flow", "demand"];  // drawn in this order: a wait is never hidden

// The first index whose value is at least `value`.
function lowerBound(values, value, low = 0) {
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

// Bars of one kind in one row: numbers of bars, begins, ends, and how much time lies in all bars before each.
function makeGroup(lane, bars) {
  const group = {bars: Int32Array.from(bars), begin: new Float64Array(bars.length), end: new Float64Array(bars.length),
    before: new Float64Array(bars.length + 1)};
  bars.forEach((bar, i) => {
    group.begin[i] = lane.begin[bar];
    group.end[i] = lane.end[bar];
    group.before[i + 1] = group.before[i] + group.end[i] - group.begin[i];
  });
  return group;
}

function prepareLanes(timeline) {
  let top = 0;
  const lanes = timeline.lanes.map((given, number) => {
    const raw = given.bars;
    const count = raw.begin_ns.length;
    const lane = {number, name: given.name, isStream: given.kind === "stream", rows: given.rows, count, raw,
      begin: Float64Array.from(raw.begin_ns), end: new Float64Array(count),
      toLane: new Int32Array(count).fill(-1), toBar: new Int32Array(count).fill(-1), groups: [], top};
    for (let i = 0; i < count; ++i) lane.end[i] = raw.begin_ns[i] + raw.length_ns[i];
    for (const [bar, otherLane, otherBar] of raw.waited_for) {
      lane.toLane[bar] = otherLane;
      lane.toBar[bar] = otherBar;
    }
    const byRow = Array.from({length: lane.rows}, () => new Map());
    for (let i = 0; i < count; ++i) {
      const kind = timeline.names[raw.what[i]];
      const row = byRow[raw.row[i]];
      if (!row.has(kind)) row.set(kind, []);
      row.get(kind).push(i);
    }
    lane.groups = byRow.map((row) =>
      kinds.filter((kind) => row.has(kind)).map((kind) => ({kind, ...makeGroup(lane, row.get(kind))})));
    top += laneHeight(lane);
    return lane;
  });

  // Every wait in order of time, and those of each site.
  const waits = [];
  for (const lane of lanes) {
    for (const groups of lane.groups) {
      for (const group of groups) {
        if (group.kind !== "demand" && group.kind !== "flow") continue;
        for (const bar of group.bars) waits.push({lane: lane.number, bar, begin: lane.begin[bar], site: lane.raw.site[bar]});
      }
    }
  }
  waits.sort((a, b) => a.begin - b.begin);
  const bySite = new Map();
  for (const wait of waits) {
    if (!bySite.has(wait.site)) bySite.set(wait.site, []);
    bySite.get(wait.site).push(wait);
  }
  return {lanes, waits, bySite, height: top, length: Math.max(timeline.length_ns, 1)};
}

const rowHeight = 17;
const laneSpace = 9;
function laneHeight(lane) {
  return lane.rows * rowHeight + laneSpace;
}

// The waits of one site as groups to draw over the rest: [{lane, row, group}].
function groupsOfSite(all, site) {
  const found = new Map();
  for (const wait of all.bySite.get(site) || []) {
    const lane = all.lanes[wait.lane];
    const key = wait.lane + ":" + lane.raw.row[wait.bar];
    if (!found.has(key)) found.set(key, {lane, row: lane.raw.row[wait.bar], bars: []});
    found.get(key).bars.push(wait.bar);
  }
  return Array.from(found.values(), ({lane, row, bars}) => ({lane, row, group: makeGroup(lane, bars)}));
}

// The bar at a time, give or take; a wait before anything else.
function barAt(lane, row, time, slack) {
  const groups = lane.groups[row] || [];
  for (let i = groups.length - 1; i >= 0; --i) {
    const group = groups[i];
    const at = lowerBound(group.end, time - slack);
    if (at < group.bars.length && group.begin[at] <= time + slack) {
      // Several may be this near: the nearest counts.
      let best = at;
      const distance = (k) => Math.max(group.begin[k] - time, time - group.end[k], 0);
      for (let k = at; k < group.bars.length && k < at + 50 && group.begin[k] <= time + slack; ++k) {
        if (distance(k) < distance(best)) best = k;
      }
      return group.bars[best];
    }
  }
  return -1;
}
