"use strict";
// Charts in SVG: elements, scales and axes, and marks that show their values on hover and to the keyboard.

const LINE_HEIGHT = 26; // of one named line of a chart
const OWN_WIDTH = 1.08; // bold letters are wider by this factor
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const count = (number) => number.toLocaleString("en-GB");
const percent = (share) => `${roundedAsInPython(100 * share)} %`;
const roundedAsInPython = (value) => (value % 1 === 0.25 ? value - 0.05 : value).toFixed(1); // ties to even
const fewer = (drop) => (drop === 0 ? "as many" : `${count(Math.abs(drop))} ${drop > 0 ? "fewer" : "more"}`);
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A linear scale: low is at the pixel from, high at the pixel to. */
function linearScale(low, high, from, to) {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
}

/** Round numbers from low to high, about as many as asked for. */
function ticks(low, high, about, integers = false) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((unit) => unit * power).find((unit) => unit >= rough * 0.999);
  if (integers) step = Math.max(1, step);
  const values = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) values.push(k * step || 0);
  return values;
}

// ---- text ----

const canvas = document.createElement("canvas").getContext("2d");

function textWidth(text) {
  canvas.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return canvas.measureText(text).width;
}

/** A name, cut to fit. */
function shortened(name, width) {
  if (textWidth(name) <= width) return name;
  const letters = Array.from(name);
  while (letters.length > 1 && textWidth(`${letters.join("")}…`) > width) letters.pop();
  return `${letters.join("")}…`;
}

/** A name in one line, or in two where it is too wide: its parts, or else as many words as fit and the others. */
function wrapped({ name, parts }, width) {
  if (textWidth(name) <= width) return [name];
  if (parts) return parts;
  const gaps = [...name.matchAll(/ +/g)].map((gap) => gap.index);
  const end = gaps.filter((index) => index > 0 && textWidth(name.slice(0, index)) <= width).at(-1);
  return end === undefined ? [name] : [name.slice(0, end), name.slice(end).trimStart()];
}

// ---- parts of charts ----

function hatchPattern(id) {
  const line = svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, class: "hatch" });
  const attributes = { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return svg("defs", {}, svg("pattern", attributes, line));
}

/** Grid lines from top to bottom with tick labels, and the title of the axis below its middle. */
function horizontalAxis(x, values, { title, format }, top, bottom, middle) {
  const label = (at, y, text) => svg("text", { x: at, y, "text-anchor": "middle", class: "axis" }, text);
  return [
    ...values.flatMap((value) => [
      svg("line", { x1: x(value), x2: x(value), y1: top, y2: bottom, class: "grid" }),
      label(x(value), bottom + 16, format(value)),
    ]),
    label(middle, bottom + 34, title),
  ];
}

/** Grid lines from left to right with tick labels. */
function verticalAxis(y, values, format, left, right) {
  return values.flatMap((value) => [
    svg("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "grid" }),
    svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end", class: "axis" }, format(value)),
  ]);
}

/** A chart in its element: drawn to the width there is, and again when that changes. */
class Chart {
  /** draw(width) returns the height, the nodes, and marks: each a node, the position of its tooltip, and its text. */
  constructor(id, title, draw) {
    this.host = byId(id);
    this.draw = draw;
    this.active = null;
    this.tooltip = document.createElement("div");
    this.tooltip.className = "tooltip";
    this.tooltip.setAttribute("role", "status");
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "group");
    this.setTitle(title);
    this.listen();
    this.redraw();
  }

  listen() {
    this.host.addEventListener("keydown", (event) => this.onKey(event));
    this.host.addEventListener("focus", () => this.host.matches(":focus-visible") && this.show(this.active ?? 0));
    this.host.addEventListener("blur", () => this.show(null));
    this.host.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.show(null));
    document.addEventListener("pointerdown", (event) => {
      if (!this.marks.some((mark) => mark.node.contains(event.target))) this.show(null);
    });
    new ResizeObserver(() => this.host.clientWidth !== this.width && this.redraw()).observe(this.host);
  }

  setTitle(title) {
    this.title = title;
    this.host.setAttribute("aria-label", `${title}. Arrow keys show the values one by one.`);
  }

  redraw() {
    this.width = Math.max(this.host.clientWidth, 240);
    const { height, nodes, marks } = this.draw(this.width);
    const attributes = { viewBox: `0 0 ${this.width} ${height}`, role: "img", "aria-label": this.title };
    this.host.replaceChildren(svg("svg", attributes, ...nodes, ...marks.map((mark) => mark.node)), this.tooltip);
    this.marks = marks;
    marks.forEach((mark, index) => mark.node.addEventListener("pointerenter", () => this.show(index)));
    this.show(null);
  }

  /** Show the tooltip of one mark, or of none. */
  show(index) {
    this.marks.forEach((mark, other) => mark.node.classList.toggle("active", other === index));
    const mark = this.marks[index];
    this.tooltip.textContent = mark ? mark.text : "";
    if (!mark) return;
    this.active = index;
    const box = this.tooltip.getBoundingClientRect();
    const left = Math.min(Math.max(mark.x - box.width / 2, 0), this.width - box.width);
    const above = mark.y - box.height - 6;
    this.tooltip.style.left = `${left}px`;
    this.tooltip.style.top = `${above > -30 ? above : mark.y + (mark.height ?? LINE_HEIGHT) + 6}px`;
  }

  onKey(event) {
    const last = this.marks.length - 1;
    const now = this.tooltip.textContent ? this.active : -1;
    const next = {
      ArrowDown: Math.min(now + 1, last),
      ArrowRight: Math.min(now + 1, last),
      ArrowUp: Math.max(now - 1, 0),
      ArrowLeft: Math.max(now - 1, 0),
      Home: 0,
      End: last,
      Escape: null,
    }[event.key];
    if (next === undefined || last < 0) return;
    event.preventDefault();
    this.show(next);
  }
}

/** A chart with a named line for each item, all on one scale; drawItem(item, x, y, height) draws one of them. */
function namedLines({ width, items, low, high, axis, integers, drawItem }) {
  const widest = width * 0.4;
  const factor = (item) => (item.own ? OWN_WIDTH : 1);
  const names = items.map((item) => wrapped(item, (widest - 2) / factor(item)));
  const height = names.some((lines) => lines.length > 1) ? 1.55 * LINE_HEIGHT : LINE_HEIGHT;
  const needed = Math.max(...names.map((lines, index) => Math.max(...lines.map(textWidth)) * factor(items[index])));
  const left = Math.min(needed + 4, widest) + 10;
  const x = linearScale(low, high, left + 8, width - 20);
  const bottom = 6 + height * items.length;
  const tickValues = ticks(low, high, Math.max(2, Math.floor((width - left) / 75)), integers);
  const nodes = horizontalAxis(x, tickValues, axis, 4, bottom, (x(low) + x(high)) / 2);
  const marks = items.map((item, index) => {
    const y = 6 + height * index;
    const baseline = y + height / 2 + 4.5 - 7.5 * (names[index].length - 1);
    const attributes = { x: left - 8, "text-anchor": "end", class: item.own ? "own" : "" };
    const texts = names[index].map((text, line) =>
      svg("text", { ...attributes, y: baseline + 15 * line }, shortened(text, (left - 12) / factor(item))),
    );
    const target = svg("rect", { x: 0, y, width, height, class: "target" });
    const node = svg("g", {}, ...drawItem(item, x, y + height / 2, height), ...texts, target);
    return { node, x: x(item.value), y, height, text: item.text };
  });
  return { height: bottom + 42, nodes, marks };
}
