// Charts: drawn where they stand, said in a sentence, as wide as the window or the paper.

// Vega keeps what it draws by name, and loses the one name that objects have for their own.
const asDrawn = (name) => (name === "__proto__" ? "__proto__\u200b" : name);

// A chart is embedded anew when its specification changes, and else only gets other rows.
const embedded = new Map();
let drawing = Promise.resolve();
const draw = (holder, { key, spec, rows, said, signals = {}, click = null, after = null }) => {
  $("main").setAttribute("aria-busy", "true");
  const step = async () => {
    let chart = embedded.get(holder);
    if (chart?.key === key) {
      chart.view.data("rows", rows);
    } else {
      embedded.delete(holder);
      chart?.finalize();
      // What it is told stands in it from the start, for where views end is found once.
      const params = spec.params.map((param) => (param.name in signals ? { ...param, value: signals[param.name] } : param));
      const embed = await vegaEmbed(holder, { ...spec, params, datasets: { rows, ...spec.datasets } }, {
        actions: false,
        renderer: "svg",
        tooltip: { theme: "light" },
      });
      chart = { key, view: embed.view, finalize: embed.finalize, fits: spec.width === "container" };
      embedded.set(holder, chart);
      holder.view = embed.view; // for who looks into the page
      for (const name of ["role", "aria-roledescription", "aria-label"]) embed.view.container().removeAttribute(name);
    }
    // One picture, which a sentence describes: what it is made of has no names, and is not read.
    $("svg", holder).setAttribute("aria-hidden", "true");
    filled(holder, [], { role: "img", "aria-label": said });
    // The whole plot is clicked on, not what is drawn there alone.
    holder.onclick = click && ((event) => click(chart.view, event));
    for (const [name, value] of Object.entries(signals)) chart.view.signal(name, value);
    await chart.view.runAsync();
    after?.(chart.view);
  };
  // What cannot be drawn is said in its place, and keeps nothing else from being drawn.
  const fail = (error) => {
    console.error(error);
    embedded.get(holder)?.finalize();
    embedded.delete(holder);
    holder.onclick = null;
    for (const name of ["role", "aria-label"]) holder.removeAttribute(name);
    holder.replaceChildren(element("p", `This chart could not be drawn: ${error?.message ?? error}`, { class: "failed" }));
  };
  const mine = (drawing = drawing.then(step).catch(fail).then(() => {
    if (drawing === mine) $("main").setAttribute("aria-busy", "false");
  }));
};

// Charts look at their width when the window changes; it changes with the tables beside them too.
const widths = new Map();
const observer = new ResizeObserver((entries) => {
  const changed = entries.filter(({ target, contentRect }) => widths.get(target) !== contentRect.width);
  for (const { target, contentRect } of changed) widths.set(target, contentRect.width);
  if (changed.length) window.dispatchEvent(new Event("resize"));
});
for (const holder of document.querySelectorAll(".chart")) observer.observe(holder);

// On paper charts are as wide as the paper, and what can be opened is open; a page is drawn there as soon
// as it is asked for.
const paper = 680; // A4 and Letter, in pixels of CSS, within their margins
const fitted = (width) => {
  for (const [holder, { view, fits }] of embedded) {
    if (!fits) continue;
    view.signal("width", width ?? holder.clientWidth);
    view.run();
  }
};
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...opened, ...document.querySelectorAll("details:not([open])")];
  for (const each of opened) each.open = true;
  fitted(paper);
});
window.addEventListener("afterprint", () => {
  for (const each of opened) each.open = false;
  opened = [];
  fitted(null);
});
