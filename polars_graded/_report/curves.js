// Curves by rank and by recall: means, or those of the query that is chosen.

const showCurves = (kind) => {
  const curve = curvesOf(kind)[state[kind]];
  if (!curve) return;
  const { query } = state;
  const { drawn, mattering } = seen;
  const whose = query === null ? `mean over ${nQueries(curve.queries)}` : `query ${seen.query}`;
  $(`#${kind} h2 span`).textContent = `: ${whose}`;
  // What is grey lies below what is not; one ideal curve for all is drawn once.
  const inTurn = [...drawn].sort((s, t) => mattering.includes(s) - mattering.includes(t));
  const hasIdeal = (s) => curve.ideal && (s === drawn[0] || curve.ideal.lines > 1);
  const all = inTurn.flatMap((s) =>
    curve.at.map((at, point) => ({
      strategy: asDrawn(strategies[s]),
      ...look(s),
      [kind]: at,
      value: curve.value(s, query, point),
      ideal: hasIdeal(s) ? curve.idealValue(s, query, point) : null,
    })));
  const nothing = "There is no value to draw. Of many queries the page has the curves of some.";
  const empty = drawn.length ? nothing : "Choose a strategy to draw.";
  if (say(kind, all.some(({ value }) => value !== null) ? "" : empty)) return;
  // The one ideal curve stands in the rows of a strategy that may have no curve itself.
  const rows = all.filter(({ value, ideal }) => value !== null || ideal !== null);
  // What is said of a curve by rank is where it ends, of one by recall where it begins.
  const point = kind === "rank" ? curve.at.length - 1 : 0;
  const points = drawn.map((s) => [curve.value(s, query, point), strategies[s]])
    .filter(([value]) => value !== null)
    .sort(([x], [y]) => y - x)
    .map(([value, name]) => `${name} ${written(value)}`);
  const lines = `${counted(points.length, "line", "lines")}, at ${kind} ${curve.at[point]}`;
  const said = `${curve.name}, ${$(`#${kind} h2`).textContent}. ${lines}: ${firstFew(points)}.`;
  const ideal = Number(rows.some((row) => row.ideal !== null));
  const key = `${state[kind]} ${ideal}`;
  draw($(`#${kind} .chart`), { key, spec: curve.specs[ideal], rows, said });
};

const showLegend = () => {
  const drawn = curves.length ? seen.drawn : [];
  const coloured = drawn.filter((s) => seen.mattering.includes(s));
  const items = coloured.map(marked);
  const others = drawn.length - coloured.length;
  if (others) items.push([sample(page.rest), `the ${amount(others)} others`]);
  legend("#legend", items);
};
