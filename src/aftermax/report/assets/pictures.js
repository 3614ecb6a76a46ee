// The five pictures. Each function takes a width and returns what Picture draws.

const rowsAxis = { title: "rows", words: (value) => count(Math.abs(Math.round(value))) };

function diamond(x, y, size) {
  return svg("path", { d: `M${x} ${y - size}L${x + size} ${y}L${x} ${y + size}L${x - size} ${y}Z`, class: "head" });
}

// ---- wins and losses by class ----

const errorsLess = (drop) => `${fewer(drop)} error${Math.abs(drop) === 1 ? "" : "s"}`;

function drawClasses(width) {
  const most = Math.max(1, ...data.classes.map((one) => Math.max(one.wins, one.losses)));
  const losses = Math.max(...data.classes.map((one) => one.losses));
  const rows = data.classes.map((one) => ({
    ...one,
    at: 0,
    words:
      `${one.name}\n${plural(one.rows, "row")}, ${plural(one.errors, "error")} by softmax\n` +
      `wins ${count(one.wins)}, losses ${count(one.losses)}: ${errorsLess(one.wins - one.losses)}`,
  }));
  const made = rowsOf({
    width,
    rows,
    low: -losses - 0.12 * most,
    high: Math.max(1, ...data.classes.map((one) => one.wins)) + 0.12 * most,
    axis: rowsAxis,
    whole: true,
    paint: (row, at, y, line) => [
      svg("rect", { x: at(0), y: y - 8, width: at(row.wins) - at(0), height: 16, class: "head" }),
      svg("rect", { x: at(-row.losses), y: y - 8, width: at(0) - at(-row.losses), height: 16, class: "under" }),
      svg("rect", { x: at(-row.losses), y: y - 8, width: at(0) - at(-row.losses), height: 16, class: "loss", fill: "url(#h1)" }),
      svg("line", { x1: at(0), x2: at(0), y1: y - line / 2, y2: y + line / 2, class: "zero" }),
      ...barEnds(row, at, y),
    ],
  });
  made.nodes.unshift(hatch("h1"));
  return made;
}

function barEnds(row, at, y) {
  const text = (x, anchor, words) => svg("text", { x, y: y + 4, "text-anchor": anchor, class: "axis" }, words);
  return [
    ...(row.wins ? [text(at(row.wins) + 5, "start", count(row.wins))] : []),
    ...(row.losses ? [text(at(-row.losses) - 5, "end", count(row.losses))] : []),
  ];
}

// ---- pairs before and after ----

function drawPairs(width) {
  const rows = data.pairs.map((one) => ({
    ...one,
    name: `${one.true} → ${one.taken_for}`,
    parts: [one.true, `→ ${one.taken_for}`],
    at: (one.before + one.after) / 2,
    words:
      `${one.true}, taken for ${one.taken_for}\n` +
      `by softmax ${plural(one.before, "row")}, by the head ${plural(one.after, "row")}`,
  }));
  return rowsOf({
    width,
    rows,
    low: 0,
    high: Math.max(...rows.map((row) => Math.max(row.before, row.after))),
    axis: rowsAxis,
    whole: true,
    paint: (row, at, y) => [
      svg("line", { x1: at(row.before), x2: at(row.after), y1: y, y2: y, class: "spread" }),
      svg("circle", { cx: at(row.before), cy: y, r: 5.5, class: "ring" }),
      diamond(at(row.after), y, 6.5),
    ],
  });
}

// ---- certainty, with the gate ----

const BINS = 20;

/** Rows and errors of softmax in each bin, from the counts below each step of the gate. */
function certaintyBins() {
  const each = (data.gate.rows.length - 1) / BINS;
  const inside = (below, all, bin) => (bin === BINS - 1 ? all : below[(bin + 1) * each]) - below[bin * each];
  return Array.from({ length: BINS }, (_, bin) => ({
    rows: inside(data.gate.rows, data.gate.ofRows, bin),
    errors: inside(data.gate.errors, data.gate.ofErrors, bin),
  }));
}

function drawCertainty(width, gate, place) {
  const bins = certaintyBins();
  const most = Math.max(...bins.map((bin) => bin.rows));
  const [left, top, bottom] = [widthOf(count(most)) + 14, 10, 220];
  const at = scale(0, 1, left, width - 14);
  const linear = scale(0, Math.sqrt(most), bottom, top);
  const up = (rows) => linear(Math.sqrt(rows)); // or else the few uncertain rows would not be seen
  place(left, width - 14 - left);
  const axis = { title: "certainty of softmax", words: (value) => value.toFixed(1) };
  const nodes = [
    hatch("h2"),
    svg("rect", { x: at(0), y: top, width: at(gate) - at(0), height: bottom - top, class: "band" }),
    ...horizontalAxis(at, ticks(0, 1, 5), axis, bottom, bottom, at(0.5)),
    ...squareTicks(most, up).flatMap((value) => [
      svg("line", { x1: at(0), x2: at(1), y1: up(value), y2: up(value), class: "grid" }),
      svg("text", { x: left - 6, y: up(value) + 4, "text-anchor": "end", class: "axis" }, count(value)),
    ]),
  ];
  const marks = bins.map((bin, number) => certaintyBar(bin, number, at, up, top, bottom));
  const line = svg("line", { x1: at(gate), x2: at(gate), y1: top, y2: bottom + 6, class: "gate" });
  marks.push({ node: line, x: at(gate), y: top, words: `The gate is at ${gate.toFixed(3)}` });
  return { height: bottom + 42, nodes, marks };
}

/** Round numbers that are not too close to each other on the scale of square roots. */
function squareTicks(most, up) {
  const found = [0];
  for (let power = 1; power <= most; power *= 10) {
    for (const value of [power, 2 * power, 5 * power]) {
      if (value <= most && up(found.at(-1)) - up(value) >= 28) found.push(value);
    }
  }
  return found;
}

function certaintyBar(bin, number, at, up, top, bottom) {
  const [from, to] = [number / BINS, (number + 1) / BINS];
  const [x, width] = [at(from) + 0.5, at(to) - at(from) - 1];
  const bar = (rows, settings) => svg("rect", { x, width, y: up(rows), height: bottom - up(rows), ...settings });
  const node = svg(
    "g",
    {},
    bar(bin.rows, { class: "plain" }),
    bar(bin.errors, { class: "under" }),
    bar(bin.errors, { class: "loss", fill: "url(#h2)" }),
    svg("rect", { x, width, y: top, height: bottom - top, class: "hit" }),
  );
  const range = `Certainty ${from.toFixed(2)} to ${to.toFixed(2)}`;
  const words = `${range}\n${plural(bin.rows, "row")}, ${plural(bin.errors, "error")} by softmax`;
  return { node, x: x + width / 2, y: Math.min(up(bin.rows), bottom - 40), words };
}

// ---- reliability of softmax ----

function drawReliability(width) {
  const [left, top, bottom] = [46, 10, 260];
  const at = scale(0, 1, left, width - 14);
  const up = scale(0, 1, bottom, top);
  const axis = { title: "certainty of softmax (mean)", words: (value) => value.toFixed(1) };
  const nodes = [
    ...horizontalAxis(at, ticks(0, 1, 5), axis, bottom, bottom, at(0.5)),
    ...ticks(0, 1, 5).flatMap((value) => [
      svg("line", { x1: at(0), x2: at(1), y1: up(value), y2: up(value), class: "grid" }),
      svg("text", { x: left - 6, y: up(value) + 4, "text-anchor": "end", class: "axis" }, `${Math.round(100 * value)} %`),
    ]),
    svg("line", { x1: at(0), y1: up(0), x2: at(1), y2: up(1), class: "diagonal" }),
  ];
  const marks = data.reliability.map((one) => {
    const [x, y] = [at(one.certainty), up(one.right / one.rows)];
    const node = svg(
      "g",
      {},
      svg("line", { x1: x, x2: x, y1: up(one.low), y2: up(one.high), class: "spread" }),
      svg("circle", { cx: x, cy: y, r: 5.5, class: "ring" }),
      svg("circle", { cx: x, cy: y, r: 13, class: "hit" }),
    );
    const words =
      `Certainty ${one.certainty.toFixed(3)} on average\n${count(one.right)} of ${plural(one.rows, "row")} right: ` +
      `${percent(one.right / one.rows)} (${percent(one.low)} to ${percent(one.high)})`;
    return { node, x, y: y - 8, words };
  });
  return { height: bottom + 42, nodes, marks };
}

// ---- a row of the response array ----

function drawResponses(width, row) {
  const names = data.responses.names;
  if (!row.units) {
    const words = "There are no rows of this class, so nothing is known of it.";
    return { height: 40, nodes: [svg("text", { x: 0, y: 24 }, words)], marks: [] };
  }
  const rows = row.units.map((unit, place) => ({
    name: names[unit],
    own: unit === row.class,
    at: row.center[place],
    low: row.center[place] - row.left[place],
    high: row.center[place] + row.right[place],
    words:
      `Unit ${names[unit]}${unit === row.class ? " (own)" : ""}\ncenter ${row.center[place]}\n` +
      `spread ${row.left[place]} below, ${row.right[place]} above\napart from other classes by ${row.apart[place]} spreads`,
  }));
  return rowsOf({
    width,
    rows,
    low: Math.min(...rows.map((one) => one.low)),
    high: Math.max(...rows.map((one) => one.high)),
    axis: { title: "response (logit)", words: (value) => String(Number(value.toPrecision(4))).replace("-", "−") },
    whole: false,
    paint: (one, at, y) => [
      svg("line", { x1: at(one.low), x2: at(one.high), y1: y, y2: y, class: one.own ? "spread own" : "spread" }),
      one.own ? diamond(at(one.at), y, 7) : svg("circle", { cx: at(one.at), cy: y, r: 5, class: "ring" }),
    ],
  });
}
