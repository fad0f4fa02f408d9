// Draws the charts that are visible, and shows the parts that a reader selects.

const bytes = Uint8Array.from(atob(document.getElementById("charts").textContent), (c) => c.charCodeAt(0));
const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const { charts, datasets, configs } = await new Response(unpacked).json();

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const root = document.documentElement;
const main = document.querySelector("main");
const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => dark.matches && !root.classList.contains("printed");
const embedOptions = { actions: false, renderer: "svg", tooltip: { theme: "light" } };

// Returns the rows of the chart of an element. Rankings are those of one query.
const query = document.getElementById("query");
const queryOf = (holder) => (holder.closest("#rankings") ? query.selectedOptions[0].dataset : undefined);
const rowsOf = (holder, name) => {
  const selected = queryOf(holder);
  return selected ? datasets[name].filter((row) => row.query === selected.query) : datasets[name];
};

// Returns the specification of the chart of an element, with its rows. Some charts are as wide as
// the element, and their titles have smaller letters on a phone.
const specOf = (holder, mode) => {
  const { spec: drawn, data } = charts[holder.dataset.chart];
  const spec = { ...drawn, config: { ...configs[mode], ...drawn.config } };
  spec.datasets = Object.fromEntries(data.map((name) => [name, rowsOf(holder, name)]));
  if (queryOf(holder)) spec.title = { ...spec.title, text: queryOf(holder).title };
  if (!holder.classList.contains("filled")) return spec;
  const width = holder.clientWidth;
  const title = { ...spec.title, limit: width, fontSize: width < 450 ? 11 : 13 };
  return { ...spec, title, width, autosize: { type: "fit-x", contains: "padding" } };
};

// Draws a chart, unless it is drawn with the same colours. If that fails, an error takes its place.
const draw = async (holder) => {
  const mode = Number(isDark());
  const drawn = [holder.dataset.chart, mode, holder.clientWidth, queryOf(holder)?.query].join(" ");
  if (holder.drawn === drawn) return;
  holder.drawn = drawn;
  try {
    holder.view?.finalize();
    const { view } = await vegaEmbed(holder, specOf(holder, mode), embedOptions);
    holder.view = view;
    // A screen reader reads the description of the chart instead of its parts.
    holder.firstElementChild?.setAttribute("aria-hidden", "true");
    const selected = queryOf(holder);
    if (selected) holder.setAttribute("aria-label", selected.title);
    if (holder.closest(".pair")) holder.onclick = (event) => showBar(view, event, holder);
  } catch (error) {
    console.error(error);
    const message = document.createElement("p");
    message.className = "failed";
    message.textContent = `This chart could not be drawn: ${error.message}`;
    holder.replaceChildren(message);
  }
};
const drawVisible = async () => {
  main.setAttribute("aria-busy", "true");
  for (const holder of all(".chart")) if (holder.checkVisibility()) await draw(holder);
  main.setAttribute("aria-busy", "false");
};

// Shows one of several parts.
const show = (parts, name) => {
  for (const part of parts) part.hidden = part.dataset.name !== name;
  return drawVisible();
};
const measure = document.getElementById("measure");
const showMeasure = () => show(all(".measure"), measure.value);
measure?.addEventListener("change", () => {
  try {
    history.replaceState(null, "", `#${encodeURIComponent(measure.value)}`);
  } catch {
    // A page inside another, as in a notebook, does not have its own address.
  }
  showMeasure();
});
for (const select of all("select.pair")) {
  const parts = all("div.pair", select.closest(".measure"));
  select.addEventListener("change", () => show(parts, select.value));
}

// Shows the rankings of a query. The page contains those of some queries.
const status = document.querySelector("#rankings [role=status]");
const showQuery = (name) => {
  const option = [...(query?.options ?? [])].find(({ dataset }) => dataset.query === name);
  if (!query) return;
  if (!option) {
    status.textContent = `The page contains the rankings of ${query.length} queries, but not those of ${name}.`;
  } else {
    status.textContent = "";
    option.selected = true;
    const holder = document.querySelector("#rankings .chart");
    draw(holder);
  }
  document.getElementById("rankings").scrollIntoView({ behavior: "smooth" });
};
query?.addEventListener("change", () => showQuery(query.selectedOptions[0].dataset.query));
for (const button of all("button[data-query]")) button.onclick = () => showQuery(button.dataset.query);

// A click anywhere above or below a bar selects its query.
const showBar = (view, event, holder) => {
  const { left } = holder.querySelector("svg").getBoundingClientRect();
  const name = view.scale("x").invert(event.clientX - left - view.origin()[0]);
  if (name !== undefined) showQuery(String(name));
};

// Saves charts with the colours of a light screen, and tables.
const quote = (value) => {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csvAddress = (rows) => {
  const text = rows.map((row) => `${row.map(quote).join(",")}\r\n`).join("");
  return URL.createObjectURL(new Blob([text], { type: "text/csv" }));
};
const textOf = (cell) =>
  cell.className.includes("number") ? cell.textContent.replaceAll("\u2212", "-") : cell.textContent;
const addressOf = async (holder, format) => {
  const { chart } = holder.dataset;
  if (format === "CSV") {
    const rows = rowsOf(holder, charts[chart].data[0]);
    return csvAddress([Object.keys(rows[0]), ...rows.map(Object.values)]);
  }
  const { view } = await vegaEmbed(document.createElement("div"), specOf(holder, 0), embedOptions);
  return view.toImageURL(format.toLowerCase(), 2);
};
for (const button of all(".save button")) {
  button.onclick = async () => {
    const format = button.textContent;
    const holder = button.closest("figure")?.querySelector(".chart");
    const table = button.closest(".table")?.querySelector("table");
    const link = document.createElement("a");
    link.href = holder
      ? await addressOf(holder, format)
      : csvAddress([...table.rows].map((row) => [...row.cells].map(textOf)));
    link.download = `${button.parentElement.dataset.file}.${format.toLowerCase()}`;
    link.click();
  };
}

// A printed page has all measures, in the colours of a light screen.
const print = (isPrinted) => {
  root.classList.toggle("printed", isPrinted);
  return drawVisible();
};
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
dark.addEventListener("change", drawVisible);
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(drawVisible, 200);
});
for (const details of all("details")) details.addEventListener("toggle", drawVisible);

const wanted = decodeURIComponent(location.hash.slice(1));
if (measure && [...measure.options].some(({ text }) => text === wanted)) measure.value = wanted;
await (measure ? showMeasure() : drawVisible());
