// Draws charts in their places, as wide as the window or paper, with a description in a sentence.

// Vega stores what it draws by name, and loses the one name that every object already has.
const asDrawn = (name) => (name === "__proto__" ? "__proto__\u200b" : name);

// A chart is embedded again if its specification changes; otherwise only its rows are replaced.
let drawing = Promise.resolve();
const draw = (holder, { key, spec, rows, description, signals = {}, click = null }) => {
  $("main").setAttribute("aria-busy", "true");
  const step = async () => {
    if (holder.view && holder.key === key) {
      holder.view.data("rows", rows);
    } else {
      holder.view?.finalize();
      // The signals are set in the specification, since Vega computes the ends of views only once.
      const params = spec.params.map((param) =>
        param.name in signals ? { ...param, value: signals[param.name] } : param);
      const whole = { ...spec, params, datasets: { rows, ...spec.datasets } };
      const options = { actions: false, renderer: "svg", tooltip: { theme: "light" } };
      const { view } = await vegaEmbed(holder, whole, options);
      Object.assign(holder, { view, key });
    }
    // To a screen reader the chart is one picture, described by a sentence, without its parts.
    filled(holder, [], { role: "img", "aria-label": description });
    holder.firstElementChild.setAttribute("aria-hidden", "true");
    // A click anywhere in the plot counts, not only on a mark.
    holder.onclick = click;
    for (const [name, value] of Object.entries(signals)) holder.view.signal(name, value);
    await holder.view.runAsync();
  };
  // If a chart cannot be drawn, an error takes its place, and the other charts are still drawn.
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

// Charts are as wide as their place on paper when printed; they are redrawn as soon as printing starts.
const paper = 970; // A4 and Letter across, in pixels of CSS, within their margins
const widthOnPaper = (holder) => {
  const sides = holder.closest(".sides");
  if (!sides || sides.querySelector(":scope > section[hidden]")) return paper;
  return holder.closest("#comparison") ? 0.4 * paper : 0.48 * paper;
};
const fitted = (isPrinted) => {
  for (const holder of document.querySelectorAll("figure > .chart")) {
    holder.view?.signal("width", isPrinted ? widthOnPaper(holder) : holder.clientWidth).run();
  }
};
window.addEventListener("beforeprint", () => fitted(true));
window.addEventListener("afterprint", () => fitted(false));
