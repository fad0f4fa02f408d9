// Differences between strategies, in a table and as points with their intervals.

// The pairs of a measure that are shown: each from the side of the one that is compared, or where
// that is every pair, of the one that is better.
const pairs = () => {
  const { measure, chosen } = state;
  const to = against();
  const sides = [["difference", "difference"], ["ci_low", "ci_high"], ["simultaneous_low", "simultaneous_high"]];
  const turned = (row) => {
    const other = { ...row, strategy: row.baseline, baseline: row.strategy, wins: row.losses, losses: row.wins };
    for (const [one, end] of sides) [other[one], other[end]] = [row[end], row[one]].map((number) => (number === null ? null : -number));
    return other;
  };
  const names = comparison.columns;
  const all = comparison.rows[measure].map((row) => Object.fromEntries(row.map((value, i) => [names[i], value])));
  // The interval that is shown is the one that agrees with p, where the test has one.
  const agreed = (row) => ({ ...row, low: row.simultaneous_low ?? row.ci_low, high: row.simultaneous_high ?? row.ci_high });
  const shown = all
    .map((row) => ((to < 0 ? row.difference * sign(measure) < 0 : row.strategy === to) ? turned(row) : row))
    .map(agreed)
    .filter(({ strategy, baseline }) => (to < 0 ? chosen.has(baseline) : baseline === to) && chosen.has(strategy));
  return shown.sort((x, y) => (y.difference ?? -Infinity) - (x.difference ?? -Infinity) || x.strategy - y.strategy);
};
const isSmall = ({ p_corrected: p }) => p !== null && p <= page.alpha;
const ends = (low, high) => (low === null ? "–" : `${written(low)} to ${written(high)}`);
const pairName = (row, every, names = strategies) => names[row.strategy] + (every ? ` - ${names[row.baseline]}` : "");
// Names of so many letters: without what all begin with, and cut in their middle; whole where two of them
// would be the same.
const brief = (names, most) => {
  if (names.every(({ length }) => length <= most)) return names;
  let same = 0;
  while (names.every((name) => same < name.length - 1 && name[same] === names[0][same])) same += 1;
  const begun = names.map((name) => (same > 1 ? `…${name.slice(same)}` : name));
  const half = Math.max(2, (most - 1) / 2);
  const cut = begun.map((name) => (name.length <= most ? name : `${name.slice(0, Math.ceil(half))}…${name.slice(-Math.floor(half))}`));
  return new Set(cut).size < names.length ? names : cut;
};

const showComparison = () => {
  const within = $("#comparison");
  const { query, measure } = state;
  const rows = pairs();
  const every = against() < 0;
  const numbers = (name, title, form) => ({ title, name, value: (row) => row[name], form });
  const inQuery = ({ strategy, baseline }) => valueOf(measure, strategy, query) - valueOf(measure, baseline, query);
  const open = (_, { strategy, baseline }) => {
    const made = button([sample(look(strategy)), called(strategy)], "Show these two query by query", () => {
      change({ a: strategy, b: baseline });
      $("#histogram").scrollIntoView({ behavior: "smooth" });
    });
    made.dataset.key = `pair ${strategy} ${baseline}`;
    return made;
  };
  const asText = { class: "text" };
  const other = { name: "baseline", value: (row) => strategies[row.baseline], form: named };
  const comparedWith = { ...other, title: every ? "Compared with" : undefined, head: asText, cell: () => asText };
  const columns = [
    { name: "measure", value: () => measures[measure].name },
    { title: "Strategy", name: "strategy", value: (row) => strategies[row.strategy], form: open, head: { class: "text" } },
    comparedWith,
    numbers("difference", "Difference", signed),
    { title: "95 % interval", value: ({ low, high }) => ends(low, high), cell: () => ({ title: comparison.held }) },
    numbers("ci_low"),
    numbers("ci_high"),
    { ...numbers("p_corrected", page.corrected, (_, { p }) => p), cell: (row) => (isSmall(row) ? { class: "best" } : {}) },
    numbers("simultaneous_low"),
    numbers("simultaneous_high"),
    ...["wins", "ties", "losses"].map((name) => numbers(name, name[0].toUpperCase() + name.slice(1))),
    ...(query === null ? [] : [{ title: "In query", value: inQuery, form: signed, head: { class: "query" }, cell: () => ({ class: "query" }) }]),
  ];
  table("comparison", "Differences between strategies", columns, rows);
  $(".sides", within).hidden = !rows.length;
  const empty = every ? "Choose at least two strategies to compare." : "Choose a strategy to compare.";
  if (!say(within, rows.length ? null : empty)) return;
  const there = rows.filter(({ difference }) => difference !== null);
  // A letter has about seven pixels.
  const room = Math.round(0.35 * $("#forest").clientWidth);
  const labels = brief(strategies, room / 7 / (every ? 2 : 1) - 3);
  const drawn = there.map((row) => ({
    ...row,
    measure: measures[measure].name,
    strategy: asDrawn(strategies[row.strategy]),
    baseline: asDrawn(strategies[row.baseline]),
    pair: asDrawn(pairName(row, every, labels)),
    significance: isSmall(row) ? "believed" : "doubted",
  }));
  // More pairs than can be named are in the table in the same order.
  const size = drawn.length > page.mostNamed ? "many" : "few";
  const headline = `${measures[measure].name}, difference${every ? "" : ` to ${strategies[against()]}`} `;
  const height = page.forestSteps[size] * drawn.length;
  const signals = { height, room, names: drawn.map(({ pair }) => pair), headline };
  const pairsSaid = there.map((row) => `${pairName(row, every)} ${signed(row.difference)} (${ends(row.low, row.high)})`);
  const said = `${headline}, with 95 % intervals: ${counted(there.length, "pair", "pairs")}, ${there.filter(isSmall).length} significant. ${firstFew(pairsSaid, " in the table")}.`;
  const intervals = there.every(({ low }) => low === null) ? "without" : "with";
  $("#comparison .line").hidden = intervals === "without";
  draw($("#forest"), { key: `${size} ${intervals}`, spec: specs.forest[size][intervals], rows: drawn, said, signals });
};
