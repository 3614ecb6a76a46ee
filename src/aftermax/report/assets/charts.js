// The charts. Each function takes a width and returns what a Chart draws.

const samplesAxis = { title: "samples", format: (value) => count(Math.abs(Math.round(value))) };

function diamond(x, y, size) {
  return svg("path", { d: `M${x} ${y - size}L${x + size} ${y}L${x} ${y + size}L${x - size} ${y}Z`, class: "head" });
}

function ring(x, y, radius) {
  return svg("circle", { cx: x, cy: y, r: radius, class: "ring" });
}

// ---- wins and losses by class ----

function drawClasses(width) {
  const largest = Math.max(1, ...data.classes.map((one) => Math.max(one.wins, one.losses)));
  const fewerErrors = (drop) => `${fewer(drop)} error${Math.abs(drop) === 1 ? "" : "s"}`;
  const items = data.classes.map((one) => ({
    ...one,
    value: 0,
    text:
      `${one.name}\n${plural(one.samples, "sample")}, ${plural(one.errors, "error")} by softmax\n` +
      `wins ${count(one.wins)}, losses ${count(one.losses)}: ${fewerErrors(one.wins - one.losses)}`,
  }));
  const chart = namedLines({
    width,
    items,
    low: -Math.max(...data.classes.map((one) => one.losses)) - 0.12 * largest,
    high: Math.max(1, ...data.classes.map((one) => one.wins)) + 0.12 * largest,
    axis: samplesAxis,
    integers: true,
    drawItem: drawWinsAndLosses,
  });
  chart.nodes.unshift(hatchPattern("losses-hatch"));
  return chart;
}

function drawWinsAndLosses({ wins, losses }, x, y, height) {
  const zero = x(0);
  const losing = { x: x(-losses), y: y - 8, width: zero - x(-losses), height: 16 };
  const number = (at, anchor, value) =>
    svg("text", { x: at, y: y + 4, "text-anchor": anchor, class: "axis" }, value ? count(value) : "");
  return [
    svg("rect", { x: zero, y: y - 8, width: x(wins) - zero, height: 16, class: "head" }),
    svg("rect", { ...losing, class: "background" }),
    svg("rect", { ...losing, class: "loss", fill: "url(#losses-hatch)" }),
    svg("line", { x1: zero, x2: zero, y1: y - height / 2, y2: y + height / 2, class: "zero" }),
    number(x(wins) + 5, "start", wins),
    number(x(-losses) - 5, "end", losses),
  ];
}

// ---- pairs of classes, before and after ----

function drawPairs(width) {
  const items = data.pairs.map((pair) => ({
    ...pair,
    name: `${pair.true} → ${pair.predicted}`,
    parts: [pair.true, `→ ${pair.predicted}`],
    value: (pair.before + pair.after) / 2,
    text:
      `${pair.true}, predicted as ${pair.predicted}\n` +
      `by softmax: ${plural(pair.before, "sample")}, by the head: ${plural(pair.after, "sample")}`,
  }));
  return namedLines({
    width,
    items,
    low: 0,
    high: Math.max(...items.map((item) => Math.max(item.before, item.after))),
    axis: samplesAxis,
    integers: true,
    drawItem: ({ before, after }, x, y) => [
      svg("line", { x1: x(before), x2: x(after), y1: y, y2: y, class: "spread" }),
      ring(x(before), y, 5.5),
      diamond(x(after), y, 6.5),
    ],
  });
}

// ---- certainty, with the gate ----

const CERTAINTY_BINS = 20;

/** Samples and errors of softmax in each bin, from the counts below each step of the gate. */
function certaintyBins() {
  const { samples, errors, allSamples, allErrors } = data.gate;
  const steps = (samples.length - 1) / CERTAINTY_BINS;
  const inside = (below, all, bin) => (bin === CERTAINTY_BINS - 1 ? all : below[(bin + 1) * steps]) - below[bin * steps];
  return Array.from({ length: CERTAINTY_BINS }, (_, bin) => ({
    samples: inside(samples, allSamples, bin),
    errors: inside(errors, allErrors, bin),
  }));
}

/** placeSlider(left, width) puts the slider right below the chart. Without a gate (null) there is none. */
function drawCertainty(width, gate, placeSlider) {
  const bins = certaintyBins();
  const largest = Math.max(...bins.map((bin) => bin.samples));
  const [left, top, bottom] = [textWidth(count(largest)) + 14, 10, 220];
  const x = linearScale(0, 1, left, width - 14);
  const ofRoot = linearScale(0, Math.sqrt(largest), bottom, top);
  const y = (samples) => ofRoot(Math.sqrt(samples)); // or else small counts would hardly be seen
  const axis = { title: "certainty of softmax", format: (value) => value.toFixed(1) };
  const nodes = [
    hatchPattern("errors-hatch"),
    svg("rect", { x: x(0), y: top, width: x(gate ?? 0) - x(0), height: bottom - top, class: "band" }),
    ...horizontalAxis(x, ticks(0, 1, 5), axis, bottom, bottom, x(0.5)),
    ...verticalAxis(y, squareRootTicks(largest, y), count, left, x(1)),
  ];
  const marks = bins.map((bin, index) => certaintyBar(bin, index, x, y, top, bottom));
  if (gate !== null) {
    placeSlider(left, width - 14 - left);
    const line = svg("line", { x1: x(gate), x2: x(gate), y1: top, y2: bottom + 6, class: "gate" });
    marks.push({ node: line, x: x(gate), y: top, text: `The gate is at ${gate.toFixed(3)}` });
  }
  return { height: bottom + 42, nodes, marks };
}

/** Round numbers that are not too close to each other on a square root scale. */
function squareRootTicks(largest, y) {
  const values = [0];
  for (let power = 1; power <= largest; power *= 10) {
    for (const value of [power, 2 * power, 5 * power]) {
      if (value <= largest && y(values.at(-1)) - y(value) >= 28) values.push(value);
    }
  }
  return values;
}

function certaintyBar(bin, index, xScale, y, top, bottom) {
  const [from, to] = [index / CERTAINTY_BINS, (index + 1) / CERTAINTY_BINS];
  const [x, width] = [xScale(from) + 0.5, xScale(to) - xScale(from) - 1];
  const bar = (samples, attributes) => svg("rect", { x, width, y: y(samples), height: bottom - y(samples), ...attributes });
  const node = svg(
    "g",
    {},
    bar(bin.samples, { class: "plain" }),
    bar(bin.errors, { class: "background" }),
    bar(bin.errors, { class: "loss", fill: "url(#errors-hatch)" }),
    svg("rect", { x, width, y: top, height: bottom - top, class: "target" }),
  );
  const range = `Certainty ${from.toFixed(2)} to ${to.toFixed(2)}`;
  const text = `${range}\n${plural(bin.samples, "sample")}, ${plural(bin.errors, "error")} by softmax`;
  return { node, x: x + width / 2, y: Math.min(y(bin.samples), bottom - 40), text };
}

// ---- reliability of softmax, and of a head with out-of-fold probabilities ----

function drawReliability(width) {
  const [left, top, bottom] = [46, 10, 260];
  const x = linearScale(0, 1, left, width - 14);
  const y = linearScale(0, 1, bottom, top);
  const axis = { title: "probability of what is predicted (mean)", format: (value) => value.toFixed(1) };
  const nodes = [
    ...horizontalAxis(x, ticks(0, 1, 5), axis, bottom, bottom, x(0.5)),
    ...verticalAxis(y, ticks(0, 1, 5), (value) => `${Math.round(100 * value)} %`, left, x(1)),
    svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "diagonal" }),
  ];
  const marks = data.reliability.map((bin) => reliabilityMark(bin, "Softmax", "", ring, x, y));
  for (const bin of data.headReliability ?? []) marks.push(reliabilityMark(bin, "The head", " own", diamond, x, y));
  return { height: bottom + 42, nodes, marks };
}

function reliabilityMark(bin, whose, kind, marker, x, y) {
  const accuracy = bin.correct / bin.samples;
  const [cx, cy] = [x(bin.certainty), y(accuracy)];
  const node = svg(
    "g",
    {},
    svg("line", { x1: cx, x2: cx, y1: y(bin.low), y2: y(bin.high), class: `spread${kind}` }),
    marker(cx, cy, 5.5),
    svg("circle", { cx, cy, r: 13, class: "target" }),
  );
  const text =
    `${whose}: ${bin.certainty.toFixed(3)} on average\n${count(bin.correct)} of ${plural(bin.samples, "sample")} correct: ` +
    `${percent(accuracy)} (${percent(bin.low)} to ${percent(bin.high)})`;
  return { node, x: cx, y: cy - 8, text };
}

// ---- what the head may decide alone ----

const RISK_STEP = 5; // of the points that show their values: one in so many

function drawRisk(width) {
  const { shares, before, after, acceptable, alone } = data.risk;
  const largest = Math.max(0.01, acceptable ?? 0, ...before, ...after);
  const [left, top, bottom] = [52, 10, 260];
  const x = linearScale(0, 1, left, width - 24);
  const y = linearScale(0, largest * 1.05, bottom, top);
  const asPercent = (value) => `${Number((100 * value).toPrecision(3))} %`;
  const axis = { title: "share of the samples that is decided alone", format: asPercent };
  const path = (errors, kind) =>
    svg("path", { d: errors.map((error, k) => `${k ? "L" : "M"}${x(shares[k])} ${y(error)}`).join(""), class: kind });
  const nodes = [
    ...horizontalAxis(x, ticks(0, 1, 5), axis, bottom, bottom, x(0.5)),
    ...verticalAxis(y, ticks(0, largest, 5), asPercent, left, x(1)),
    path(before, "risk"),
    path(after, "risk by-head"),
  ];
  if (acceptable !== null) nodes.push(svg("line", { x1: left, x2: x(1), y1: y(acceptable), y2: y(acceptable), class: "limit" }));
  if (alone) nodes.push(svg("line", { x1: x(alone), x2: x(alone), y1: top, y2: bottom, class: "gate" }));
  const marks = shares.flatMap((share, k) => ((k + 1) % RISK_STEP ? [] : [riskPoint(share, before[k], after[k], x, y)]));
  return { height: bottom + 42, nodes, marks };
}

function riskPoint(share, before, after, x, y) {
  const [cx, cy] = [x(share), y(after)];
  const node = svg("g", {}, diamond(cx, cy, 3.5), svg("rect", { x: cx - 8, y: 10, width: 16, height: 250, class: "target" }));
  const text = `The most certain ${percent(share)} of the samples\nerror of softmax: ${percent(before)}\nerror of the head: ${percent(after)}`;
  return { node, x: cx, y: cy - 8, text };
}

// ---- one row of the response array ----

function drawResponses(width, row) {
  const names = data.responses.names;
  if (!row.units) {
    const text = "There are no samples of this class, so its responses are unknown.";
    return { height: 40, nodes: [svg("text", { x: 0, y: 24 }, text)], marks: [] };
  }
  const items = row.units.map((unit, index) => ({
    name: names[unit],
    own: unit === row.class,
    value: row.center[index],
    low: row.center[index] - row.left[index],
    high: row.center[index] + row.right[index],
    text:
      `Unit ${names[unit]}${unit === row.class ? " (own)" : ""}\ncenter ${row.center[index]}\n` +
      `spread ${row.left[index]} below, ${row.right[index]} above\n` +
      `separated from other classes by ${row.separation[index]} spreads`,
  }));
  return namedLines({
    width,
    items,
    low: Math.min(...items.map((item) => item.low)),
    high: Math.max(...items.map((item) => item.high)),
    axis: { title: "response (logit)", format: (value) => String(Number(value.toPrecision(4))).replace("-", "−") },
    integers: false,
    drawItem: ({ own, value, low, high }, x, y) => [
      svg("line", { x1: x(low), x2: x(high), y1: y, y2: y, class: own ? "spread own" : "spread" }),
      own ? diamond(x(value), y, 7) : ring(x(value), y, 5),
    ],
  });
}
