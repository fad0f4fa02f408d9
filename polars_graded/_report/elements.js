// Elements of the parts of the page. Texts are set as text, so that no name is read as HTML.

const filled = (made, content, attributes) => {
  made.append(...[content].flat());
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const element = (tag, content = "", attributes = {}) =>
  filled(document.createElement(tag), content, attributes);
const button = (text, title, act) => {
  const made = element("button", text, { type: "button", title });
  made.addEventListener("click", act);
  return made;
};
// Returns a piece of the line that a strategy has in the charts.
const sample = ({ colour, dash = [1, 0] }) => {
  const made = $("#sample").content.cloneNode(true);
  filled($("line", made), [], { stroke: colour, "stroke-dasharray": dash.join(" ") });
  return made;
};
// Short names stay on one line, long ones break anywhere.
const named = (name) => element("span", name, { class: name.length > 20 ? "long name" : "name" });
const called = (strategy) => named(strategies[strategy]);
const marked = (strategy) => [sample(look(strategy)), called(strategy)];
const legend = (selector, items) =>
  $(selector).replaceChildren(...items.map((item) => element("li", item)));
// Returns the names of the two compared strategies.
const legendOfBoth = (id, texts) =>
  legend(`#${id} .legend`, texts.map((text, i) => [sample({ colour: seen.colours[i] }), text]));

// Scrolling elements can be reached with the keyboard, and state if more columns are to the right.
// Charts follow the width of the window and of the tables beside them.
const scrolls = (box) => {
  const sideways = box.scrollWidth > box.clientWidth + 1;
  box.previousElementSibling.hidden = !sideways;
  box.tabIndex = sideways || box.scrollHeight > box.clientHeight + 1 ? 0 : -1;
};
const sizes = new ResizeObserver(() => {
  document.querySelectorAll(".scroll").forEach(scrolls);
  window.dispatchEvent(new Event("resize"));
});
document.querySelectorAll(".scroll, .scroll > *, .chart").forEach((each) => sizes.observe(each));

// Returns rows as objects, by the names of their columns.
const records = (names, rows) =>
  rows.map((row) => Object.fromEntries(row.map((value, i) => [names[i], value])));

// A column has a `title` where the table shows it and a `name` where it is saved, the `value` of a
// row, and the `form` in which it is shown; a `look`, and what else its head and each `cell` have.
const column = (name, title, form, more) =>
  ({ name, title, form, value: (row) => row[name], ...more });

// The rows of each part that are saved as CSV.
const savedRows = new Map();
const keepRows = (id, columns, rows) => {
  const kept = columns.filter(({ name }) => name !== undefined);
  savedRows.set(id, [kept.map(nameOf), ...rows.map((row) => kept.map(({ value }) => value(row)))]);
};

const table = (id, columns, rows, about = () => ({})) => {
  const box = $(`#${id} .scroll`);
  const shown = columns.filter(({ title }) => title !== undefined);
  const heads = shown.map(({ title, look = "", head }) =>
    element("th", title, { class: look, ...head }));
  const cells = (row) => shown.map(({ value, form = String, look = "", cell = () => ({}) }, i) =>
    element(i ? "td" : "th", form(value(row), row), { class: look, ...cell(row) }));
  // The focused element is replaced by a new one in its place.
  const controls = () => [...box.querySelectorAll("button, input")];
  const focused = controls().indexOf(document.activeElement);
  $("thead", box).replaceChildren(element("tr", heads));
  $("tbody", box).replaceChildren(...rows.map((row) => element("tr", cells(row), about(row))));
  controls()[focused]?.focus();
  keepRows(id, columns, rows);
};
// Shows a text instead of the chart of a part, if there is one.
const say = (id, what) => {
  $(`#${id} .empty`).textContent = what;
  return what;
};
