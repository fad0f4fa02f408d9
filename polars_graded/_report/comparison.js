// Differences between strategies, in a table and as points with their intervals.

// The pairs of a measure that are shown: each from the side of the one that is compared, or where
// that is every pair, of the one that is better.
const pairs = () => {
  const { measure, chosen } = state;
  const to = against();
  const minus = (number) => (number === null ? null : -number);
  const turned = ({ strategy, baseline, difference, low, high, togetherLow, togetherHigh, wins, losses, ...same }) => ({
    ...same,
    strategy: baseline,
    baseline: strategy,
    difference: minus(difference),
    low: minus(high),
    high: minus(low),
    togetherLow: minus(togetherHigh),
    togetherHigh: minus(togetherLow),
    wins: losses,
    losses: wins,
  });
  const names = comparison.columns;
  const all = comparison.rows[measure].map((row) => Object.fromEntries(row.map((value, i) => [names[i], value])));
  const shown = all
    .map((row) => ((to < 0 ? row.difference * sign(measure) < 0 : row.strategy === to) ? turned(row) : row))
    .filter(({ strategy, baseline }) => (to < 0 ? chosen.has(baseline) : baseline === to) && chosen.has(strategy));
  return shown.sort((x, y) => (y.difference ?? -Infinity) - (x.difference ?? -Infinity) || x.strategy - y.strategy);
};
const isSmall = ({ p }) => p !== null && p <= page.alpha;
const ends = (low, high) => (low === null ? "–" : `${written(low)} to ${written(high)}`);
const pairName = (row, every) => strategies[row.strategy] + (every ? ` - ${strategies[row.baseline]}` : "");

const showComparison = () => {
  const within = $("#comparison");
  const { query, measure } = state;
  const rows = pairs();
  const every = against() < 0;
  const head = ["Strategy", ...(every ? ["Compared with"] : []), "Difference", "95 % interval", page.corrected, "Wins", "Ties", "Losses"];
  const heads = head.map((name, i) => element("th", name, { scope: "col", ...(i < 1 + every ? { class: "text" } : {}) }));
  if (query !== null) heads.push(element("th", "In query", { scope: "col", class: "query" }));
  const body = rows.map((row) => {
    const open = button([sample(looks[row.strategy]), called(row.strategy)], "Show these two query by query", () => {
      change({ a: row.strategy, b: row.baseline });
      $("#histogram").scrollIntoView({ behavior: "smooth" });
    });
    open.dataset.key = `pair ${row.strategy} ${row.baseline}`;
    const together = comparison.together && { title: `${comparison.together}: ${ends(row.togetherLow, row.togetherHigh)}` };
    const cells = [signed(row.difference), ends(row.low, row.high), pWritten(row.p), row.wins, row.ties, row.losses].map((text, i) =>
      element("td", String(text), { ...(i === 1 && together), ...(isSmall(row) && i === 2 ? { class: "best" } : {}) }));
    const names = [element("th", open, { scope: "row" }), ...(every ? [element("td", called(row.baseline), { class: "text" })] : [])];
    if (query !== null) {
      cells.push(element("td", signed(valueOf(measure, row.strategy, query) - valueOf(measure, row.baseline, query)), { class: "query" }));
    }
    return element("tr", [...names, ...cells]);
  });
  table(within, "Differences between strategies", element("tr", heads), body);
  $(".sides", within).hidden = !rows.length;
  const empty = every ? "Choose at least two strategies to compare." : "Choose a strategy to compare.";
  if (!say(within, rows.length ? null : empty)) return;
  const there = rows.filter(({ difference }) => difference !== null);
  const drawn = there.map((row) => ({
    measure: measures[measure].name,
    strategy: asDrawn(strategies[row.strategy]),
    baseline: asDrawn(strategies[row.baseline]),
    pair: asDrawn(pairName(row, every)),
    difference: row.difference,
    ci_low: row.low,
    ci_high: row.high,
    simultaneous_low: row.togetherLow,
    simultaneous_high: row.togetherHigh,
    p_corrected: row.p,
    significance: isSmall(row) ? "believed" : "doubted",
  }));
  // More pairs than can be named are in the table in the same order.
  const size = drawn.length > page.mostNamed ? "many" : "few";
  const headline = `${measures[measure].name}, difference${every ? "" : ` to ${strategies[against()]}`} `;
  const height = page.forestSteps[size] * drawn.length;
  const room = Math.round(0.35 * $("#forest").clientWidth);
  const signals = { height, room, names: drawn.map(({ pair }) => pair), headline };
  const some = there.slice(0, 5).map((row) => `${pairName(row, every)} ${signed(row.difference)} (${ends(row.low, row.high)})`);
  const more = there.length - some.length;
  const said = `${headline}, with 95 % intervals: ${counted(there.length, "pair", "pairs")}, ${there.filter(isSmall).length} significant. ${some.join(", ")}${more ? `, and ${more} more in the table` : ""}.`;
  const intervals = there.every(({ low }) => low === null) ? "none" : there.every(({ togetherLow }) => togetherLow === null) ? "single" : "both";
  for (const entry of document.querySelectorAll("#comparison .thin")) entry.hidden = !comparison.together || intervals !== "both";
  draw($("#forest"), { key: `${size} ${intervals}`, spec: specs.forest[size][intervals], rows: drawn, said, signals });
};
const comparisonNumbers = () => [
  ["measure", "strategy", "baseline", "difference", "ci_low", "ci_high", "p_corrected", "simultaneous_low", "simultaneous_high", "wins", "ties", "losses"],
  ...pairs().map((row) => [
    measures[state.measure].name, strategies[row.strategy], strategies[row.baseline], row.difference, row.low, row.high, row.p,
    row.togetherLow, row.togetherHigh, row.wins, row.ties, row.losses,
  ]),
];
