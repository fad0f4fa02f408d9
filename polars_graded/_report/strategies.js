// Shows the means of strategies by every measure, and their values in the chosen query.

// Returns the strategies that may be the best by a measure: those without a significant difference to
// the best mean. If all pairs contain the baseline, this is unknown, so the best mean is returned.
const mayBeBest = ({ best_strategies: best }, m) => {
  const rows = comparison.rows[m];
  if (baseline !== null || !rows) return best;
  const worse = new Set(
    records(comparison.columns, rows)
      .filter(({ significant }) => significant)
      .map(({ strategy: a, baseline: b }) => (best.includes(a) ? b : best.includes(b) ? a : null)),
  );
  return best.length ? [...strategies.keys()].filter((s) => !worse.has(s)) : [];
};

// Returns the columns of a measure: its mean, and the value of the chosen query.
const columnsOf = (measure, m) => {
  const { name, about, best, queries: n, means, margins } = measure;
  const { query } = state;
  const bold = mayBeBest(measure, m);
  const hint = `${about}\nChoose this measure, and order the strategies by it.`.trim();
  const order = best === "lowest" ? "ascending" : "descending";
  const sorted = m === state.measure ? { "aria-sort": order } : {};
  const ends = page.unjudged?.[name];
  const mean = (value, s) => {
    if (query !== null) return written(value);
    const without = n > 1 ? " all equal" : "";
    const margin = margins[s] === null ? without : ` ±${written(margins[s])}`;
    const open = ends ? ` (${ends[s].map(written).join(", ")})` : "";
    return [written(value), element("small", margin), element("small", open, { class: "open" })];
  };
  const interval = (s) =>
    margins[s] === null ? "no interval" : `± ${written(margins[s])}, with 95 % confidence`;
  // A line below the mean shows its interval, on the same scale for all strategies.
  const ranges = means.map((mean, s) => [mean - margins[s], mean + margins[s]]);
  const [least, greatest] = [Math.min(...ranges.flat()), Math.max(...ranges.flat())];
  const share = (n) => `${((100 * (n - least)) / (greatest - least || 1)).toFixed(1)}%`;
  const line = (s) => `--low: ${share(ranges[s][0])}; --high: ${share(ranges[s][1])}`;
  const shape = (s) => `${bold.includes(s) ? "best " : ""}${margins[s] === null ? "" : "mean"}`;
  const end = (side) => (s) => (margins[s] === null ? null : means[s] + side * margins[s]);
  const inQuery = (s) => valueOf(m, s, query);
  const signedValue = (s) => sign(m) * inQuery(s);
  const top = Math.max(...[...strategies.keys()].map(signedValue).filter(Number.isFinite));
  const isTop = (s) => best !== "none" && signedValue(s) === top;
  return [
    column(name, button(name, hint, () => change({ measure: m })), mean, {
      head: { "data-text": name, ...sorted },
      value: (s) => means[s],
      cell: (s) =>
        ({ title: `${interval(s)}, ${nQueries(n)}`, class: shape(s).trim(), style: line(s) }),
    }),
    { name: `${name} ci_low`, value: end(-1) },
    { name: `${name} ci_high`, value: end(1) },
    ends && { name: `${name} unjudged_irrelevant`, value: (s) => ends[s][0] },
    ends && { name: `${name} unjudged_best`, value: (s) => ends[s][1] },
    query !== null && column(`${name} in query ${seen.query}`, "query", written, {
      look: "query",
      value: inQuery,
      cell: (s) => ({ class: isTop(s) ? "query best" : "query" }),
    }),
  ].filter(Boolean);
};

const showStrategies = () => {
  const label = (_, s) => {
    const box = element("input", "", { type: "checkbox", value: s });
    box.checked = state.chosen.has(s);
    return element("label", [box, ...marked(s)]);
  };
  const names = column("strategy", "Strategy", label, { value: (s) => strategies[s] });
  table("strategies", [names, ...measures.flatMap(columnsOf)], ranked());
  const some = measures.some(({ margins }) => margins.some((margin) => margin !== null));
  const intervals = " with ± 95 % intervals, which the lines show on one scale for each column";
  const beside = state.query === null
    ? (some ? intervals : "")
    : `, each beside the value in query ${seen.query}`;
  const bold = baseline === null && comparison.rows.length
    ? "bold: the best mean of each column, and means that are not significantly worse"
    : "bold: the best mean of each column";
  const means = `Means over the queries${beside}; ${bold}.`;
  if (measures.length) $("#strategies .note span").textContent = means;
  const n = state.chosen.size;
  const count = n === strategies.length ? "All" : `${n} of ${strategies.length}`;
  $("#count").textContent = `${count} are chosen.`;
};
