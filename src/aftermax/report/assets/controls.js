// The controls: the theme, the gate, and the class whose responses are drawn.

function startTheme() {
  const button = byId("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const use = (theme) => {
    const other = theme === "dark" ? "light" : "dark";
    root.dataset.theme = theme;
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Switch to ${other} colours`);
  };
  const useSystem = () => use(system.matches ? "dark" : "light");
  system.addEventListener("change", useSystem);
  button.addEventListener("click", () => {
    system.removeEventListener("change", useSystem);
    use(root.dataset.theme === "dark" ? "light" : "dark");
  });
  button.hidden = false;
  useSystem();
}

function startGate() {
  const title = "Samples by certainty of softmax, and its errors among them";
  const slider = byId("gate");
  if (!slider) {
    new Chart("certainty-chart", title, (width) => drawCertainty(width, null));
    return;
  }
  const { samples, errors, allSamples, allErrors } = data.gate;
  const placeSlider = (left, width) => {
    slider.style.marginLeft = `${left - 8}px`; // half a thumb, so that it is right below the line
    slider.style.width = `${width + 16}px`;
  };
  slider.value = data.gate.start;
  slider.disabled = false;
  const draw = (width) => drawCertainty(width, Number(slider.value), placeSlider);
  const chart = new Chart("certainty-chart", title, draw);
  const share = (part, all) => `${count(part)} of ${count(all)}${all ? ` (${percent(part / all)})` : ""}`;
  const update = () => {
    const gate = Number(slider.value);
    const step = Math.round(gate * (samples.length - 1));
    const pooled = share(samples[step], allSamples);
    byId("gate-value").textContent = gate.toFixed(3);
    byId("pooled-samples").textContent = pooled;
    byId("pooled-errors").textContent = share(errors[step], samples[step]);
    byId("pooled-share").textContent = share(errors[step], allErrors);
    slider.setAttribute("aria-valuetext", `${gate.toFixed(3)}: ${pooled} samples pooled`);
    chart.redraw();
  };
  slider.addEventListener("input", update);
  update();
}

function startResponses() {
  const { classes, names, start, allClasses } = data.responses;
  const select = byId("class");
  for (const row of classes) {
    const name = names[row.class] + (row.units ? "" : " (no samples)");
    select.append(new Option(name, row.class, false, row.class === start));
  }
  select.disabled = false;
  const picked = () => classes.find((row) => row.class === Number(select.value));
  const title = () => `Responses to the ${plural(picked().samples, "sample")} of class ${names[picked().class]}`;
  const chart = new Chart("response-chart", title(), (width) => drawResponses(width, picked()));
  const update = () => {
    const notes = [];
    const shown = (picked().units ?? []).length;
    if (classes.length < allClasses) {
      notes.push(
        `Of ${count(allClasses)} classes, ${classes.length} are compared: those of the pairs above, and those with the ` +
          "most errors of softmax.",
      );
    }
    if (shown && shown < classes.length) {
      notes.push(`Its own unit, and the ${shown - 1} of ${classes.length} units that separate it best from other classes.`);
    }
    byId("response-note").textContent = notes.join(" ");
    byId("response-title").textContent = title();
    chart.setTitle(title());
    chart.redraw();
  };
  select.addEventListener("change", update);
  update();
}

startTheme();
new ClassTable();
new Chart("class-chart", "Wins and losses by class", drawClasses);
byId("class-note").textContent = data.otherClasses
  .map((rest) => `${rest.name}: wins ${count(rest.wins)}, losses ${count(rest.losses)}.`)
  .join(" ");
if (data.pairs.length) new Chart("pair-chart", "Samples confused, before and after, by pair of classes", drawPairs);
else byId("pair-chart").closest("figure").remove();
if (data.risk) new Chart("risk-chart", "Error of the most certain samples, by softmax and by the head", drawRisk);
startGate();
new Chart("reliability-chart", "Accuracy by the probability of what is predicted", drawReliability);
startResponses();
