// The strategies: their means by every measure, and beside them their values in the query chosen.

// Where the mean of a strategy could lie, if unjudged documents were judged, among those of all.
const unjudged = (m) => {
  const all = page.unjudged?.[measures[m].name];
  return all?.some(([low, high], s) => low < measures[m].means[s] || high > measures[m].means[s]) ? all : null;
};
const couldBe = (m, s) => {
  const all = unjudged(m);
  if (!all) return [];
  const [least, most] = [Math.min(...all.flat()), Math.max(...all.flat())];
  const [low, high, at] = [...all[s], measures[m].means[s]].map((value) => (value - least) / (most - least || 1));
  const said = `${written(all[s][0])} to ${written(all[s][1])}, by what is unjudged`;
  return [" ", whisker(low, high, at, said)];
};

// The heads and rows of a table of some measures.
const strategiesTable = (some) => {
  const { query } = state;
  const cell = (text, best, more = {}) => element("td", text, { ...more, class: `${more.class ?? ""}${best ? " best" : ""}`.trim() });
  const head = [element("th", "Strategy", { scope: "col", rowspan: query === null ? 1 : 2 })];
  const below = [];
  some.forEach((m) => {
    const measure = measures[m];
    const here = m === state.measure;
    const by = button(measure.name, [measure.about, "Choose this measure, and order the strategies by it."].filter(Boolean).join("\n"), () => change({ measure: m }));
    by.dataset.key = `measure ${m}`;
    const sorted = here ? { "aria-sort": measure.best === "lowest" ? "ascending" : "descending" } : {};
    const label = [by, here ? (measure.best === "lowest" ? " ▴" : " ▾") : ""];
    head.push(element("th", label, { scope: query === null ? "col" : "colgroup", colspan: query === null ? 1 : 2, "data-text": measure.name, ...sorted }));
    below.push(element("th", "mean", { scope: "col" }), element("th", "query", { scope: "col", class: "query" }));
  });
  const tops = measures.map((measure, m) => {
    if (query === null || measure.best === "none") return null;
    const all = strategies.map((_, s) => valueOf(m, s, query)).filter((value) => !Number.isNaN(value));
    return all.length ? sign(m) * Math.max(...all.map((value) => sign(m) * value)) : null;
  });
  const [a, b] = comparable ? sides() : [];
  const rows = ranked(state.measure).map((s) => {
    const box = element("input", "", { type: "checkbox" });
    box.checked = state.chosen.has(s);
    box.dataset.key = `strategy ${s}`;
    box.addEventListener("change", () => {
      const chosen = new Set(state.chosen);
      if (box.checked) chosen.add(s);
      else chosen.delete(s);
      change({ chosen });
    });
    const badges = [["A", a], ["B", b]].filter(([, side]) => side === s);
    const marks = badges.map(([side]) => element("span", side, { class: "badge", title: "In the chart query by query" }));
    const label = element("label", [box, sample(looks[s]), called(s), ...marks]);
    const cells = some.flatMap((m) => {
      const measure = measures[m];
      const margin = measure.margins[s];
      const best = measure.bests.includes(s);
      const text = written(measure.means[s]) + (best ? " *" : "");
      const interval = margin === null ? "no interval" : `± ${written(margin)}, with 95 % confidence`;
      const ends = unjudged(m)?.[s].map(written).join(" to ");
      const about = { title: `${interval}, ${nQueries(measure.queries)}${ends ? `; by what is unjudged it could be ${ends}` : ""}` };
      if (query === null) {
        const reach = margin === null ? [] : [element("small", ` ±${written(margin)}`)];
        return [cell([text, ...reach, ...couldBe(m, s)], best, about)];
      }
      const value = valueOf(m, s, query);
      return [cell(text, best, about), cell(written(value), value === tops[m], { class: "query" })];
    });
    const name = element("th", label, { scope: "row", "data-text": strategies[s] });
    return element("tr", [name, ...cells], state.chosen.has(s) ? {} : { class: "left" });
  });
  return [[element("tr", head), ...(query === null ? [] : [element("tr", below)])], rows];
};

const showStrategies = () => {
  const within = $("#strategies");
  const { query } = state;
  table(within, "Strategies and their means", ...strategiesTable([...measures.keys()]));
  const open = query === null && [...measures.keys()].some(unjudged);
  const lines = open ? " A line reaches from the mean with all unjudged documents irrelevant, where the point is, to that with all of the highest grade." : "";
  const beside = query === null ? "" : ` Beside each, the value in query ${queries[query]}.`;
  $(".note", within).textContent = measures.length
    ? `Means over the queries${query === null ? ", ± their 95 % intervals" : ""}; the best of each column marked *.${lines}${beside} ${page.missing}`
    : page.absent.measures;
  const n = state.chosen.size;
  $("#count").textContent = n === strategies.length ? "All are chosen." : `${n} of ${strategies.length} are chosen.`;
};

// On paper nothing scrolls: more measures than stand side by side are in tables below each other.
window.addEventListener("beforeprint", () => {
  const across = state.query === null ? 5 : 4;
  const within = $("#strategies .paper");
  const starts = [...measures.keys()].filter((m) => m % across === 0);
  within.replaceChildren();
  $("#strategies .scroll").classList.toggle("narrow", starts.length < 2);
  if (starts.length < 2) return;
  for (const start of starts) {
    const [heads, rows] = strategiesTable([...measures.keys()].slice(start, start + across));
    within.append(element("table", [element("thead", heads), element("tbody", rows)]));
  }
});
window.addEventListener("afterprint", () => $("#strategies .paper").replaceChildren());

const strategiesNumbers = () => {
  const { query } = state;
  const head = measures.flatMap(({ name }) => [name, `${name} ci_low`, `${name} ci_high`, ...(page.unjudged?.[name] ? [`${name} unjudged_low`, `${name} unjudged_high`] : []), ...(query === null ? [] : [`${name} in query ${queries[query]}`])]);
  const rows = ranked(state.measure).map((s) => [
    strategies[s],
    ...measures.flatMap(({ name, means, margins }, m) => {
      const [mean, margin] = [means[s], margins[s]];
      const ends = margin === null ? [null, null] : [mean - margin, mean + margin];
      return [mean, ...ends, ...(page.unjudged?.[name]?.[s] ?? []), ...(query === null ? [] : [valueOf(m, s, query)])];
    }),
  ]);
  return [["strategy", ...head], ...rows];
};

// Each measure and curve in a line, where there is one to say.
const explain = () => {
  const known = [...measures, ...curves].filter(({ about }) => about);
  $("#explained").hidden = !known.length;
  definitions($("#explained dl"), known.map(({ name, about }) => [name, about]));
};
