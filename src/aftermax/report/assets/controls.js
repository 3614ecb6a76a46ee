// What can be moved: the theme, the order of a table, the gate, and the class whose row of D is drawn.

function startTheme() {
  const button = find("theme");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  button.hidden = false;
  name();
}

function startSorting() {
  for (const button of document.querySelectorAll("th button")) {
    button.addEventListener("click", () => sortBy(button.closest("th")));
  }
}

/** Sort a table by one of its columns: the largest first, names from the first column on; again, the other way. */
function sortBy(head) {
  const place = head.cellIndex;
  const first = head.classList.contains("text") ? "ascending" : "descending";
  const other = first === "ascending" ? "descending" : "ascending";
  const order = head.getAttribute("aria-sort") === first ? other : first;
  for (const one of head.parentElement.children) one.setAttribute("aria-sort", one === head ? order : "none");
  const body = head.closest("table").tBodies[0];
  const value = (row) => Number(row.cells[place].dataset.value);
  const sign = order === "ascending" ? 1 : -1;
  body.append(...[...body.rows].sort((one, another) => sign * (value(one) - value(another))));
}

function startGate() {
  const slider = find("gate");
  const { rows, errors, ofRows, ofErrors } = data.gate;
  const place = (left, width) => {
    slider.style.marginLeft = `${left - 8}px`; // half a thumb, so that it is right below the line
    slider.style.width = `${width + 16}px`;
  };
  slider.value = data.gate.start;
  slider.disabled = false;
  const draw = (width) => drawCertainty(width, Number(slider.value), place);
  const picture = new Picture("certainty-picture", "Rows by certainty of softmax, and its errors among them", draw);
  const share = (part, all) => (all ? ` (${percent(part / all)})` : "");
  const update = () => {
    const gate = Number(slider.value);
    const step = Math.round(gate * (rows.length - 1));
    const pooled = `${count(rows[step])} of ${count(ofRows)}${share(rows[step], ofRows)}`;
    find("gate-value").textContent = gate.toFixed(3);
    find("pooled-rows").textContent = pooled;
    find("pooled-errors").textContent = `${count(errors[step])} of ${count(rows[step])}${share(errors[step], rows[step])}`;
    find("pooled-share").textContent = `${count(errors[step])} of ${count(ofErrors)}${share(errors[step], ofErrors)}`;
    slider.setAttribute("aria-valuetext", `${gate.toFixed(3)}: ${pooled} rows pooled`);
    picture.redraw();
  };
  slider.addEventListener("input", update);
  update();
}

function startResponses() {
  const { rows, names, start, ofClasses } = data.responses;
  const select = find("class");
  for (const row of rows) {
    select.append(new Option(names[row.class] + (row.units ? "" : " (no rows)"), row.class, false, row.class === start));
  }
  select.disabled = false;
  const picked = () => rows.find((row) => row.class === Number(select.value));
  const title = () => `Responses to the ${plural(picked().count, "row")} of class ${names[picked().class]}`;
  const picture = new Picture("response-picture", title(), (width) => drawResponses(width, picked()));
  const update = () => {
    const notes = [];
    const shown = (picked().units ?? []).length;
    if (shown && shown < ofClasses) {
      notes.push(`Its own unit, and the ${shown - 1} of ${count(ofClasses)} units that hold it apart from other classes best.`);
    }
    if (rows.length < ofClasses) {
      notes.push(`The ${rows.length} of ${count(ofClasses)} classes with the most errors of softmax can be picked.`);
    }
    find("response-note").textContent = notes.join(" ");
    find("response-title").textContent = title();
    picture.name(title());
    picture.redraw();
  };
  select.addEventListener("change", update);
  update();
}

startTheme();
startSorting();
new Picture("class-picture", "Wins and losses by class", drawClasses);
find("class-note").textContent = data.otherClasses
  .map((rest) => `${rest.name}: wins ${count(rest.wins)}, losses ${count(rest.losses)}.`)
  .join(" ");
if (data.pairs.length) new Picture("pair-picture", "Rows confused, before and after, by pair of classes", drawPairs);
else find("pair-picture").closest("figure").remove();
startGate();
new Picture("reliability-picture", "How often softmax is right, by certainty", drawReliability);
startResponses();
