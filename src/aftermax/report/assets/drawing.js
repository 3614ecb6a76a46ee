"use strict";
// Pictures by hand: SVG elements, scales and axes, and marks that show their values on hover and to the keyboard.

const LINE = 26; // height of one row of a picture
const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const count = (number) => number.toLocaleString("en-GB");
const percent = (share) => `${roundedAsInPython(100 * share)} %`;
const roundedAsInPython = (value) => (value % 1 === 0.25 ? value - 0.05 : value).toFixed(1); // ties to even
const fewer = (drop) => (drop === 0 ? "as many" : `${count(Math.abs(drop))} ${drop > 0 ? "fewer" : "more"}`);
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function scale(low, high, from, to) {
  return (value) => from + ((value - low) / (high - low || 1)) * (to - from);
}

/** Round numbers that span low to high, about as many as asked for. */
function ticks(low, high, about, whole = false) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((unit) => unit * power).find((unit) => unit >= rough * 0.999);
  if (whole) step = Math.max(1, step);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) found.push(at * step || 0);
  return found;
}

const pen = document.createElement("canvas").getContext("2d");

function widthOf(text) {
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/** A name, cut to fit. */
function shortened(name, width) {
  if (widthOf(name) <= width) return name;
  const letters = Array.from(name);
  while (letters.length > 1 && widthOf(`${letters.join("")}…`) > width) letters.pop();
  return `${letters.join("")}…`;
}

/** A name in one line, or in two where it is too wide: its parts, or else as many words as fit and the others. */
function inLines({ name, parts }, width) {
  if (widthOf(name) <= width) return [name];
  if (parts) return parts;
  const ends = [...name.matchAll(/ +/g)].map((gap) => gap.index).filter((end) => end > 0 && widthOf(name.slice(0, end)) <= width);
  return ends.length ? [name.slice(0, ends.at(-1)), name.slice(ends.at(-1)).trimStart()] : [name];
}

function hatch(id) {
  const line = svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, class: "hatch" });
  const settings = { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return svg("defs", {}, svg("pattern", settings, line));
}

function horizontalAxis(at, values, label, top, bottom, middle) {
  const found = values.map((value) => [
    svg("line", { x1: at(value), x2: at(value), y1: top, y2: bottom, class: "grid" }),
    svg("text", { x: at(value), y: bottom + 16, "text-anchor": "middle", class: "axis" }, label.words(value)),
  ]);
  return [...found.flat(), svg("text", { x: middle, y: bottom + 34, "text-anchor": "middle", class: "axis" }, label.title)];
}

/** A picture in its place: drawn to the width there is, and again when that changes. */
class Picture {
  constructor(id, title, draw) {
    this.host = find(id);
    this.draw = draw;
    this.active = null;
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.setAttribute("role", "status");
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "group");
    this.name(title);
    this.host.addEventListener("keydown", (event) => this.key(event));
    this.host.addEventListener("focus", () => this.host.matches(":focus-visible") && this.show(this.active ?? 0));
    this.host.addEventListener("blur", () => this.show(null));
    this.host.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.show(null));
    document.addEventListener("pointerdown", (event) => this.marks.some((mark) => mark.node.contains(event.target)) || this.show(null));
    new ResizeObserver(() => this.host.clientWidth !== this.width && this.redraw()).observe(this.host);
    this.redraw();
  }

  name(title) {
    this.title = title;
    this.host.setAttribute("aria-label", `${title}. Arrow keys show the values one by one.`);
  }

  /** What draw returns: the height, the nodes, and marks, each with a node, a place for its tip, and its words. */
  redraw() {
    this.width = Math.max(this.host.clientWidth, 240);
    const { height, nodes, marks } = this.draw(this.width);
    const settings = { viewBox: `0 0 ${this.width} ${height}`, role: "img", "aria-label": this.title };
    this.host.replaceChildren(svg("svg", settings, ...nodes, ...marks.map((mark) => mark.node)), this.tip);
    this.marks = marks;
    marks.forEach((mark, number) => mark.node.addEventListener("pointerenter", () => this.show(number)));
    this.show(null);
  }

  show(number) {
    this.marks.forEach((mark, other) => mark.node.classList.toggle("active", other === number));
    const mark = this.marks[number];
    this.tip.textContent = mark ? mark.words : "";
    if (!mark) return;
    this.active = number;
    const box = this.tip.getBoundingClientRect();
    const left = Math.min(Math.max(mark.x - box.width / 2, 0), this.width - box.width);
    const above = mark.y - box.height - 6;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${above > -30 ? above : mark.y + (mark.height ?? LINE) + 6}px`;
  }

  key(event) {
    const last = this.marks.length - 1;
    const now = this.tip.textContent ? this.active : -1;
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

/** Rows with a name on the left and something drawn on one scale: what three of the pictures are. */
function rowsOf({ width, rows, low, high, axis, whole, paint }) {
  const room = width * 0.4;
  const names = rows.map((row) => inLines(row, (room - 2) / (row.own ? 1.08 : 1)));
  const line = names.some((lines) => lines.length > 1) ? 1.55 * LINE : LINE;
  const wanted = Math.max(...names.map((lines, place) => Math.max(...lines.map(widthOf)) * (rows[place].own ? 1.08 : 1))) + 4;
  const left = Math.min(wanted, room) + 10;
  const at = scale(low, high, left + 8, width - 20);
  const bottom = 6 + line * rows.length;
  const shownTicks = ticks(low, high, Math.max(2, Math.floor((width - left) / 75)), whole);
  const nodes = horizontalAxis(at, shownTicks, axis, 4, bottom, (at(low) + at(high)) / 2);
  const marks = rows.map((row, place) => {
    const y = 6 + line * place;
    const first = y + line / 2 + 4.5 - 7.5 * (names[place].length - 1);
    const texts = names[place].map((words, below) =>
      svg("text", { x: left - 8, y: first + 15 * below, "text-anchor": "end", class: row.own ? "own" : "" }, shortened(words, left - 12)),
    );
    const hit = svg("rect", { x: 0, y, width, height: line, class: "hit" });
    const node = svg("g", {}, ...paint(row, at, y + line / 2, line), ...texts, hit);
    return { node, x: at(row.at), y, height: line, words: row.words };
  });
  return { height: bottom + 42, nodes, marks };
}
