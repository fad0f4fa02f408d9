// The strategies: their means by every measure, and beside them their values in the query chosen.

// The means of strategies with unjudged documents irrelevant and with all best, where these differ.
const unjudged = (m) => {
  const all = page.unjudged?.[measures[m].name];
  return all?.some(([low, high], s) => low < measures[m].means[s] || high > measures[m].means[s]) ? all : null;
};
const between = (ends) => ends.map(written).join(" to ");

// The columns of a measure: its mean, and beside it the value of the query that is chosen.
const columnsOf = (measure, m) => {
  const { query } = state;
  const { name, about, best, means, margins, bests } = measure;
  const [low, high] = [-1, 1].map((side) => (s) => (margins[s] === null ? null : means[s] + side * margins[s]));
  const here = m === state.measure;
  const by = button(name, [about, "Choose this measure, and order the strategies by it."].filter(Boolean).join("\n"), () => change({ measure: m }));
  by.dataset.key = `measure ${m}`;
  const title = [by, here ? (best === "lowest" ? " ▴" : " ▾") : ""];
  const head = { "data-text": name, ...(here ? { "aria-sort": best === "lowest" ? "ascending" : "descending" } : {}) };
  const mean = (value, s) => {
    const margin = margins[s] === null ? [] : [element("small", ` ±${written(margins[s])}`)];
    const ends = unjudged(m)?.[s];
    const open = ends ? [element("small", ` (${between(ends)})`)] : [];
    return [written(value), ...(query === null ? [...margin, ...open] : [])];
  };
  const said = (s) => {
    const interval = margins[s] === null ? "no interval" : `± ${written(margins[s])}, with 95 % confidence`;
    return `${interval}, ${nQueries(measure.queries)}`;
  };
  const cell = (s) => ({ title: said(s), class: bests.includes(s) ? "best" : "" });
  const bounds = page.unjudged?.[name];
  const columns = [
    { name, value: (s) => means[s], form: mean, cell, title, head },
    { name: `${name} ci_low`, value: low },
    { name: `${name} ci_high`, value: high },
    ...(bounds ? ["low", "high"].map((end, i) => ({ name: `${name} unjudged_${end}`, value: (s) => bounds[s][i] })) : []),
  ];
  if (query === null) return columns;
  const all = strategies.map((_, s) => sign(m) * valueOf(m, s, query)).filter((value) => !Number.isNaN(value));
  const isTop = (s) => best !== "none" && sign(m) * valueOf(m, s, query) === Math.max(...all);
  const inQuery = (s) => ({ class: isTop(s) ? "query best" : "query" });
  const value = { name: `${name} in query ${queries[query]}`, value: (s) => valueOf(m, s, query), form: written, cell: inQuery };
  return [...columns, { ...value, title: "query", head: { class: "query" } }];
};

// The strategies, which are chosen there, and the columns of all measures.
const strategyColumns = () => {
  const label = (name, s) => {
    const box = element("input", "", { type: "checkbox" });
    box.checked = state.chosen.has(s);
    box.dataset.key = `strategy ${s}`;
    box.addEventListener("change", () => {
      const chosen = new Set(state.chosen);
      if (box.checked) chosen.add(s);
      else chosen.delete(s);
      change({ chosen });
    });
    return element("label", [box, sample(look(s)), called(s)]);
  };
  const names = { title: "Strategy", name: "strategy", value: (s) => strategies[s], form: label };
  return [names, ...measures.flatMap(columnsOf)];
};

const showStrategies = () => {
  const within = $("#strategies");
  const { query } = state;
  table("strategies", "Strategies and their means", strategyColumns(), ranked(state.measure), (s) => (state.chosen.has(s) ? {} : { class: "left" }));
  const open = query === null && [...measures.keys()].some(unjudged);
  const lines = open ? " In brackets, which is no interval: with unjudged documents as irrelevant, and with all of the highest grade." : "";
  const beside = query === null ? "" : ` Beside each, the value in query ${queries[query]}.`;
  $(".note", within).textContent = measures.length
    ? `Means over the queries${query === null ? ", ± their 95 % intervals" : ""}; the best of each column in bold.${lines}${beside} ${page.missing}`
    : page.absent.measures;
  const n = state.chosen.size;
  $("#count").textContent = n === strategies.length ? "All are chosen." : `${n} of ${strategies.length} are chosen.`;
};

// Each measure and curve in a line, where there is one to say.
const explain = () => {
  const known = [...measures, ...curves].filter(({ about }) => about);
  $("#explained").hidden = !known.length;
  definitions($("#explained dl"), known.map(({ name, about }) => [name, about]));
};
