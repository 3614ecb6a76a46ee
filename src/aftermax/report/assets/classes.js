// The table of classes. All of them are sorted and searched; of many, those that come first are in the table.

const searchable = (name) => name.normalize("NFKC").toLowerCase();

/** What each column is sorted by, in the order of the table. */
const CLASS_COLUMNS = [
  (one) => one.index,
  (one) => one.samples,
  (one) => one.errors,
  (one) => one.wins - one.losses,
  (one) => recall(one, one.samples - one.errors),
  (one) => recall(one, one.samples - one.errors + one.wins - one.losses),
  (one) => one.wins,
  (one) => one.losses,
];

function recall(one, correct) {
  return one.samples ? correct / one.samples : -1;
}

class ClassTable {
  constructor() {
    const { names, samples, errors, wins, losses } = data.allClasses;
    this.classes = names.map((name, index) => ({
      index,
      name,
      key: searchable(name),
      samples: samples[index],
      errors: errors[index],
      wins: wins[index],
      losses: losses[index],
    }));
    this.body = byId("classes").tBodies[0];
    this.status = byId("class-status");
    this.atFirst = { rows: [...this.body.rows], status: this.status?.textContent };
    this.most = this.atFirst.rows.length; // that the table holds
    this.sorted = null; // until a heading is clicked
    for (const button of byId("classes").querySelectorAll("th button")) {
      button.addEventListener("click", () => this.sortBy(button.closest("th")));
    }
    this.search = byId("class-name");
    if (!this.search) return;
    byId("class-search").hidden = false;
    this.search.addEventListener("input", () => this.show());
  }

  /** Sort by a column: numbers from the largest, classes in their order; again, the other way. */
  sortBy(heading) {
    const first = heading.classList.contains("text") ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = heading.getAttribute("aria-sort") === first ? other : first;
    for (const one of heading.parentElement.children) one.setAttribute("aria-sort", one === heading ? order : "none");
    const value = CLASS_COLUMNS[heading.cellIndex];
    const sign = order === "ascending" ? 1 : -1;
    this.classes.sort((one, another) => sign * (value(one) - value(another)) || one.index - another.index);
    this.sorted = order;
    this.show();
  }

  show() {
    const wanted = searchable(this.search?.value.trim() ?? "");
    if (!wanted && !this.sorted) {
      this.body.replaceChildren(...this.atFirst.rows);
      this.say(this.atFirst.status);
      return;
    }
    const found = wanted ? this.found(wanted) : this.classes;
    this.body.replaceChildren(...found.slice(0, this.most).map(classRow));
    this.say(this.summary(wanted, found.length));
  }

  /** The classes with these letters in their names: those that are called so first, then those that begin so. */
  found(wanted) {
    const rank = ({ key }) => (key === wanted ? 0 : key.startsWith(wanted) ? 1 : 2);
    const some = this.classes.filter(({ key }) => key.includes(wanted));
    return some.sort((one, another) => rank(one) - rank(another));
  }

  say(text) {
    if (this.status) this.status.textContent = text;
  }

  summary(wanted, found) {
    const all = count(this.classes.length);
    const shown = found > this.most ? `The first ${this.most} are listed.` : "";
    if (!wanted) return shown && `All ${all} classes are sorted. ${shown}`;
    if (!found) return `No class has this in its name; there are ${all}.`;
    return `${count(found)} of ${all} classes ${found === 1 ? "has this in its name" : "have this in their names"}. ${shown}`;
  }
}

function classRow(one) {
  const [, , , drop, before, after] = CLASS_COLUMNS.map((value) => value(one));
  const share = (value) => (value < 0 ? "" : percent(value));
  const texts = [count(one.samples), count(one.errors), fewer(drop), share(before), share(after)];
  const row = document.createElement("tr");
  const name = document.createElement("span");
  name.className = "name";
  name.textContent = one.name;
  row.insertCell().append(name);
  row.cells[0].className = "text";
  const headings = document.querySelectorAll("#classes th");
  [...texts, count(one.wins), count(one.losses)].forEach((text, place) => {
    const cell = row.insertCell();
    cell.className = "count";
    if (!text) return;
    cell.dataset.label = headings[place + 1].textContent;
    cell.append(document.createElement("span"));
    cell.firstChild.textContent = text;
  });
  return row;
}
