// Curves by rank and by recall: means, or those of the query that is chosen.

const showCurves = (kind, title) => {
  const within = $(`#${kind}`);
  const mine = curvesOf(kind);
  const whose = state.query === null ? `mean over ${nQueries(mine[state[kind]]?.queries)}` : `query ${queries[state.query]}`;
  const headline = mine.length ? `${title}: ${whose}` : title;
  $("h2", within).textContent = headline;
  if (!mine.length) return;
  const curve = mine[state[kind]];
  if (!say(within, state.chosen.size ? null : "Choose a strategy to draw.")) return;
  const { query } = state;
  // One ideal curve for all is drawn once.
  const first = Math.min(...state.chosen);
  const valueAt = (s, point) => (query === null ? curve.means[s][point] : curve.value(s, query, point));
  // What is grey lies below what is not.
  const inTurn = [...state.chosen].sort((s, t) => mattering.has(s) - mattering.has(t));
  const rows = inTurn.flatMap((s) =>
    curve.at.map((at, point) => ({
      strategy: asDrawn(strategies[s]),
      ...look(s),
      [kind]: at,
      value: valueAt(s, point),
      ...(curve.ideal && (curve.ideal.lines > 1 || s === first)
        ? { ideal: query === null ? curve.ideal.means[s % curve.ideal.lines][point] : curve.idealValue(s, query, point) }
        : {}),
    })));
  const left = query !== null && curve.there && !curve.there.includes(query);
  const nothing = left ? "The page has the curves of fewer queries, this one not among them." : "There is no value to draw.";
  if (!say(within, rows.some(({ value }) => value !== null) ? null : nothing)) return;
  // The one ideal curve stands in the rows of a strategy that may have no curve itself.
  const there = rows.filter(({ value, ideal }) => value !== null || (ideal ?? null) !== null);
  // What is said of a curve by rank is where it ends, of one by recall where it begins.
  const point = kind === "rank" ? curve.at.length - 1 : 0;
  const points = [...state.chosen].map((s) => [valueAt(s, point), strategies[s]]).filter(([value]) => value !== null);
  const pointsSaid = points.sort(([x], [y]) => y - x).map(([value, name]) => `${name} ${written(value)}`);
  const said = `${curve.name}, ${headline}. ${counted(points.length, "line", "lines")}, at ${kind} ${curve.at[point]}: ${firstFew(pointsSaid)}.`;
  const ideal = Number(there.some((row) => (row.ideal ?? null) !== null));
  draw($(".chart", within), { key: `${state[kind]} ${ideal}`, spec: curve.specs[ideal], rows: there, said });
};

const showLegend = () => {
  const drawn = curves.length ? [...state.chosen].sort((s, t) => s - t) : [];
  const coloured = drawn.filter((s) => mattering.has(s));
  const others = drawn.length - coloured.length;
  const items = coloured.map((s) => [sample(look(s)), called(s)]);
  if (others) items.push([sample(page.rest), `the ${amount(others)} others`]);
  $("#legend").replaceChildren(...items.map((item) => element("li", item)));
};
