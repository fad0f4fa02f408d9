// Shows curves by rank and by recall: means, or the curves of the chosen query.

// Returns heights of names, the lowest first, that are a step apart and move least. Heights minus
// the room of the names below are fitted by isotonic regression, which pools unordered neighbours.
const spreadHeights = (heights, step, lowest, highest) => {
  const pools = [];
  heights.forEach((height, i) => {
    pools.push({ mean: height - i * step, n: 1 });
    while (pools.length > 1 && pools.at(-2).mean > pools.at(-1).mean) {
      const [one, other] = pools.splice(-2);
      const n = one.n + other.n;
      pools.push({ mean: (one.mean * one.n + other.mean * other.n) / n, n });
    }
  });
  const last = highest - (heights.length - 1) * step;
  const fitted = pools.flatMap(({ mean, n }) => Array(n).fill(mean));
  return fitted.map((y, i) => Math.max(lowest, Math.min(y, last)) + i * step);
};

// Returns both ends of an axis of values: 0 and 1, or the next half of a power of ten.
const roundEnds = (values, unit) => {
  if (unit) return [0, 1];
  const round = (n) => {
    const step = 10 ** Math.floor(Math.log10(Math.abs(n) || 1)) / 2;
    return Math.sign(n) * Math.ceil(Math.abs(n) / step) * step;
  };
  const [lowest, highest] = [Math.min(0, ...values), Math.max(0, ...values)];
  return [round(lowest), round(highest) || 1];
};

const NAME_HEIGHT = 13; // pixels
const [CURVE_HEIGHT, LETTER_WIDTH, MAX_LETTERS, NAME_OFFSET] = [280, 6.5, 36, 18];
// Places names beside the lines if the chart is wide enough: at the one of `places`, which are
// listed from right to left, where the names move least.
const MIN_NAMED_WIDTH = 400;
const withNames = (rows, holder, places, [lowest, highest]) => {
  if (holder.clientWidth < MIN_NAMED_WIDTH) return { room: 0, side: 1 };
  const step = ((highest - lowest) * NAME_HEIGHT) / CURVE_HEIGHT;
  const tried = places.map((at, place) => {
    const isNamed = (row) => row.at === at && row.value !== null && row.colour !== page.rest.colour;
    const named = rows.filter(isNamed).sort((x, y) => x.value - y.value);
    const heights = spreadHeights(named.map(({ value }) => value), step, lowest, highest);
    const moved = named.reduce((sum, { value }, i) => sum + Math.abs(heights[i] - value), 0);
    return { named, heights, moved: Math.round(1e6 * moved / step), side: place ? -1 : 1 };
  });
  const { named, heights, side } = tried.reduce((x, y) => (y.moved < x.moved ? y : x));
  named.forEach((row, i) => { row.label_at = heights[i]; });
  const longest = Math.max(0, ...named.map(({ strategy }) => strategy.length));
  return { room: Math.min(longest, MAX_LETTERS) * LETTER_WIDTH + NAME_OFFSET, side };
};

const showCurves = (kind) => {
  const curve = curvesOf(kind)[state[kind]];
  if (!curve) return;
  const { query } = state;
  const { drawn, mattering } = seen;
  const whose = query === null ? `mean over ${nQueries(curve.queries)}` : `query ${seen.query}`;
  $(`#${kind} h2 span`).textContent = `: ${whose}`;
  // Grey lines are drawn below the others. An ideal curve that all share is drawn once.
  const inTurn = [...drawn].sort((s, t) => mattering.includes(s) - mattering.includes(t));
  const hasIdeal = (s) => curve.ideal && (s === drawn[0] || curve.ideal.n_lines > 1);
  const all = inTurn.flatMap((s) =>
    curve.at.map((at, point) => ({
      strategy: asDrawn(strategies[s]),
      ...look(s),
      [kind]: at,
      at,
      value: curve.value(s, query, point),
      ideal: hasIdeal(s) ? curve.idealValue(s, query, point) : null,
    })));
  const nothing = "There is no value to draw. If there are many queries, only some have curves here.";
  const empty = drawn.length ? nothing : "Choose a strategy to draw.";
  if (say(kind, all.some(({ value }) => value !== null) ? "" : empty)) return;
  // The shared ideal curve is in the rows of a strategy that may have no curve itself.
  const rows = all.filter(({ value, ideal }) => value !== null || ideal !== null);
  // The end of a curve by rank is described, and the start of a curve by recall.
  const point = kind === "rank" ? curve.at.length - 1 : 0;
  const points = drawn.map((s) => [curve.value(s, query, point), strategies[s]])
    .filter(([value]) => value !== null)
    .sort(([x], [y]) => y - x)
    .map(([value, name]) => `${name} ${written(value)}`);
  const lines = `${counted(points.length, "line", "lines")}, at ${kind} ${curve.at[point]}`;
  const description = `${curve.name}, ${$(`#${kind} h2`).textContent}. ${lines}: ${firstFew(points)}.`;
  const ideal = Number(rows.some((row) => row.ideal !== null));
  const key = `${state[kind]} ${ideal}`;
  const holder = $(`#${kind} .chart`);
  const values = rows.flatMap((row) => [row.value ?? 0, row.ideal ?? 0]);
  const [lowest, highest] = roundEnds(values, curve.unit);
  const places = kind === "rank" ? [curve.at.at(-1)] : [curve.at.at(-1), curve.at[0]];
  const named = withNames(rows, holder, places, [lowest, highest]);
  draw(holder, { key, spec: curve.specs[ideal], rows, description, signals: { ...named, lowest, highest } });
};

const showLegend = () => {
  const drawn = curves.length ? ranked().filter((s) => seen.drawn.includes(s)) : [];
  const coloured = drawn.filter((s) => seen.mattering.includes(s));
  const items = coloured.map(marked);
  const others = drawn.length - coloured.length;
  if (others) items.push([sample(page.rest), `the ${amount(others)} others`]);
  legend("#legend", items);
};
