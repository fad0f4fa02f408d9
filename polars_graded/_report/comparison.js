// Shows differences between strategies in a table, and as points with intervals.

// Returns a pair with its strategies exchanged.
const MIRRORED = [
  ["difference", "difference"],
  ["ci_low", "ci_high"],
  ["simultaneous_low", "simultaneous_high"],
];
const turned = ({ strategy, baseline, wins, losses, ...row }) => {
  const other = { ...row, strategy: baseline, baseline: strategy, wins: losses, losses: wins };
  for (const [one, end] of MIRRORED) {
    [other[one], other[end]] = [row[end], row[one]].map((n) => (n === null ? null : -n));
  }
  return other;
};
// Returns the pairs of a measure to show. The first strategy of a pair is the compared one, or the
// better one if every pair is compared.
const pairs = () => {
  const { measure, chosen } = state;
  const to = against();
  const isTurned = ({ strategy, difference }) =>
    to === EVERY ? difference * sign(measure) < 0 : strategy === to;
  const isShown = ({ strategy, baseline }) =>
    chosen.has(strategy) && (to === EVERY ? chosen.has(baseline) : baseline === to);
  return records(comparison.columns, comparison.rows[measure])
    .map((row) => (isTurned(row) ? turned(row) : row))
    .filter(isShown)
    .sort((x, y) => y.difference - x.difference || x.strategy - y.strategy);
};
const ends = ({ low, high }) => (low === null ? "–" : `${written(low)} to ${written(high)}`);

const showComparison = () => {
  const { measure } = seen;
  const every = against() === EVERY;
  const pair = (names, s, t) => names[s] + (every ? ` − ${names[t]}` : "");
  const rows = pairs().map((row) => ({
    ...row,
    measure: measure.name,
    sides: [row.strategy, row.baseline],
    strategy: strategies[row.strategy],
    baseline: strategies[row.baseline],
    pair: asDrawn(pair(page.labels, row.strategy, row.baseline)),
    significance: row.significant ? "believed" : "doubted",
    // If the test has an interval that agrees with p, it is shown.
    low: row.simultaneous_low ?? row.ci_low,
    high: row.simultaneous_high ?? row.ci_high,
  }));
  const open = (_, { sides: [a, b] }) =>
    button(marked(a), "Show these two query by query", () => {
      change({ a, b });
      $("#histogram").scrollIntoView({ behavior: "smooth" });
    });
  const bold = ({ significance }) => ({ class: significance === "believed" ? "best" : "" });
  const inQuery = ({ sides: [a, b] }) =>
    valueOf(state.measure, a, state.query) - valueOf(state.measure, b, state.query);
  table("comparison", [
    column("measure"),
    column("strategy", "Strategy", open),
    column("baseline", every ? "Compared with" : undefined, named, { look: "text" }),
    column("difference", "Difference", signed),
    { title: "95 % interval", value: ends, cell: () => ({ title: comparison.interval_note }) },
    column("ci_low"),
    column("ci_high"),
    column("p_corrected", page.corrected, (_, { p }) => p, { cell: bold }),
    column("simultaneous_low"),
    column("simultaneous_high"),
    column("wins", "Wins"),
    column("ties", "Ties"),
    column("losses", "Losses"),
    state.query !== null && { title: "In query", value: inQuery, form: signed, look: "query" },
  ].filter(Boolean), rows);
  const empty = `Choose ${every ? "at least two strategies" : "a strategy"} to compare.`;
  if (say("comparison", rows.length ? "" : empty)) return;
  const drawn = rows.filter(({ difference }) => difference !== null);
  // If there are too many pairs for names, the table lists them in the same order.
  const step = page.forestSteps[Number(drawn.length > page.mostNamed)];
  const key = drawn.every(({ low }) => low === null) ? "without" : "with";
  $("#comparison .line").hidden = key === "without";
  const headline = `${measure.name}, difference${every ? "" : ` to ${page.labels[against()]}`}`;
  const signals = { height: step * drawn.length, headline };
  const listed = drawn.map((row) =>
    `${pair(strategies, ...row.sides)} ${signed(row.difference)} (${ends(row)})`);
  const settled = drawn.filter(({ significance }) => significance === "believed").length;
  const description =
    `${headline}${key === "with" ? ", with 95 % intervals" : ""}: ${counted(drawn.length, "pair", "pairs")}, ` +
    `${settled} significant. ${firstFew(listed)}.`;
  draw($("#forest"), { key, spec: specs.forest[key], rows: drawn, description, signals });
};
