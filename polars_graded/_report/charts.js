// Charts: drawn where they stand, described in a sentence, as wide as the window or the paper.

// Vega keeps what it draws by name, and loses the one name that objects have for their own.
const asDrawn = (name) => (name === "__proto__" ? "__proto__\u200b" : name);

// A chart is embedded anew when its specification changes, and else only gets other rows.
let drawing = Promise.resolve();
const draw = (holder, { key, spec, rows, description, signals = {}, click = null }) => {
  $("main").setAttribute("aria-busy", "true");
  const step = async () => {
    if (holder.view && holder.key === key) {
      holder.view.data("rows", rows);
    } else {
      holder.view?.finalize();
      // What it is told stands in it from the start, for where views end is found once.
      const params = spec.params.map((param) =>
        param.name in signals ? { ...param, value: signals[param.name] } : param);
      const whole = { ...spec, params, datasets: { rows, ...spec.datasets } };
      const options = { actions: false, renderer: "svg", tooltip: { theme: "light" } };
      const { view } = await vegaEmbed(holder, whole, options);
      Object.assign(holder, { view, key });
    }
    // One picture, which a sentence describes: what it is made of has no names, and is not read.
    filled(holder, [], { role: "img", "aria-label": description });
    holder.firstElementChild.setAttribute("aria-hidden", "true");
    // The whole plot is clicked on, not what is drawn there alone.
    holder.onclick = click;
    for (const [name, value] of Object.entries(signals)) holder.view.signal(name, value);
    await holder.view.runAsync();
  };
  // What cannot be drawn is stated in its place, and keeps nothing else from being drawn.
  const fail = (error) => {
    console.error(error);
    holder.view?.finalize();
    Object.assign(holder, { view: null, onclick: null });
    const failure = `This chart could not be drawn: ${error?.message ?? error}`;
    holder.setAttribute("aria-label", failure);
    holder.replaceChildren(element("p", failure, { class: "failed" }));
  };
  const mine = (drawing = drawing.then(step).catch(fail).then(() => {
    if (drawing === mine) $("main").setAttribute("aria-busy", "false");
  }));
};

// On paper charts are as wide as the paper; a page is drawn there as soon as it is asked for.
const paper = 970; // A4 and Letter across, in pixels of CSS, within their margins
const fitted = (width) => {
  for (const holder of document.querySelectorAll("figure > .chart")) {
    holder.view?.signal("width", width ?? holder.clientWidth).run();
  }
};
window.addEventListener("beforeprint", () => fitted(paper));
window.addEventListener("afterprint", () => fitted(null));
