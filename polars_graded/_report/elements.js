// What the parts of the page are made of. Texts are set as texts, so that no name is read as HTML.

const filled = (made, content, attributes) => {
  made.append(...[content].flat());
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const element = (tag, content = "", attributes = {}) => filled(document.createElement(tag), content, attributes);
const shape = (tag, attributes, inner = []) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), inner, attributes);
const button = (text, title, act) => {
  const made = element("button", text, { type: "button", title });
  made.addEventListener("click", act);
  return made;
};
// A piece of the line that a strategy has in the charts.
const sample = ({ colour, dash }) => {
  const line = shape("line", { x1: 0, x2: 22, y1: 6, y2: 6, stroke: colour, "stroke-width": 4, "stroke-dasharray": dash.join(" ") });
  return shape("svg", { class: "sample", viewBox: "0 0 22 12", "aria-hidden": "true" }, [line]);
};
// Short names stay on one line, long ones break anywhere.
const named = (name) => element("span", name, { class: name.length > 20 ? "long name" : "name" });
const called = (strategy) => named(strategies[strategy]);
// A sentence of texts and of places of strategies.
const sentence = (parts) =>
  parts.map((part) => (typeof part === "number" ? element("span", [sample(look(part)), " ", called(part)], { class: "strategy" }) : part));
const definitions = (list, pairs) =>
  list.replaceChildren(...pairs.map(([term, text]) => element("div", [element("dt", term), element("dd", text)])));

// A choice of one is no choice: it is said.
const options = (select, names, act) => {
  select.replaceChildren(...names.map(([value, name]) => element("option", name, { value })));
  select.addEventListener("change", () => act(Number(select.value)));
  select.hidden = names.length < 2;
  select.nextElementSibling.classList.toggle("alone", names.length < 2);
};

// What scrolls can be reached with the keyboard, and says so where more columns are to its right.
const scrolls = (box) => {
  const [sideways, down] = [box.scrollWidth > box.clientWidth + 1, box.scrollHeight > box.clientHeight + 1];
  box.previousElementSibling.hidden = !sideways;
  if (sideways || down) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
};
const boxes = new ResizeObserver((entries) => entries.forEach(({ target }) => scrolls(target)));
for (const box of document.querySelectorAll(".scroll")) boxes.observe(box);

// A column has a `title` where the table shows it and a `name` where it is saved, the `value` of a row,
// and the `form` in which it is shown.
const tableRows = (columns, rows, about = () => ({})) => {
  const shown = columns.filter(({ title }) => title !== undefined);
  const cells = (row) => shown.map(({ value, form = String, cell = () => ({}) }, i) =>
    element(i ? "td" : "th", form(value(row), row), { ...(i ? {} : { scope: "row" }), ...cell(row) }));
  const heads = shown.map(({ title, head }) => element("th", title, { scope: "col", ...head }));
  return [element("tr", heads), rows.map((row) => element("tr", cells(row), about(row)))];
};

// What of each part is saved as CSV.
const savedRows = new Map();
const keepRows = (id, columns, rows) => {
  const kept = columns.filter(({ name }) => name !== undefined);
  savedRows.set(id, [kept.map(({ name }) => name), ...rows.map((row) => kept.map(({ value }) => value(row)))]);
};

const table = (id, caption, columns, rows, about) => {
  const within = $(`#${id}`);
  const focused = document.activeElement?.dataset.key;
  const box = $(".scroll", within);
  filled(box, [], { role: "group", "aria-label": caption });
  const [head, body] = tableRows(columns, rows, about);
  $("table", box).replaceChildren(element("caption", caption, { class: "hidden" }), element("thead", head), element("tbody", body));
  keepRows(id, columns, rows);
  scrolls(box);
  // What was focused is made anew.
  if (focused) [...within.querySelectorAll("[data-key]")].find((made) => made.dataset.key === focused)?.focus();
};
// A part of the page, which is there where it has something.
const part = (id, there) => {
  $(`#${id}`).hidden = !there;
  return there ? $(`#${id}`) : null;
};
// What it has instead of its chart, or of all, is said where there is something to say.
const instead = (within, place, of, what) => {
  Object.assign($(place, within), { textContent: what ?? "", hidden: !what });
  $(of, within).hidden = Boolean(what);
  return !what;
};
const say = (within, what) => instead(within, ".empty", "figure", what);
const absent = (id, what) => instead($(`#${id}`), ".absent", ".content", what);
