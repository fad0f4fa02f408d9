// Some of the queries: a rectangle in any view, or two differences, and the means of what they hold.

// Each query with its values, its place by falling difference, and its place in a bin.
const exploredRows = (all, [a, b], width) => {
  const { measure } = state;
  const colours = twoColours(a, b);
  const rows = all.map(({ query, difference, side }, i) => ({
    query: asDrawn(queries[query]),
    value_a: valueOf(measure, a, query),
    value_b: valueOf(measure, b, query),
    difference,
    better: side === null ? null : ROLES[side],
    colour: colours[side] ?? null,
    position: i + 1,
    middle: Math.round(difference / width) * width,
  }));
  const full = new Map();
  for (const row of rows.toReversed()) full.set(row.middle, (row.place = (full.get(row.middle) ?? 0) + 1));
  const [middles, values] = [[0, ...full.keys()], rows.flatMap((row) => [row.value_a, row.value_b])];
  const [[lowest, highest], [down, up]] = [values, middles].map((all) => [Math.min(...all), Math.max(...all)]);
  const ends = { lowest, highest, down: down - width / 2, up: up + width / 2 };
  return [rows, { ...ends, fullest: Math.max(...full.values()), total: rows.length }];
};

// The means and intervals that the chart has made of the queries that are chosen, in a sentence.
const sayChosen = (total, names) => {
  const drawn = [...document.querySelectorAll("#explore svg.marks .mark-text.role-mark text")].map((text) => text.__data__.datum);
  const n = drawn.find(({ said }) => said)?.queries ?? 0;
  const said = drawn.filter(({ what }) => what).map(({ mean, low, high }) => written(mean) + (low === null ? "" : ` [${written(low)}, ${written(high)}]`));
  const means = said.length ? `: the mean of ${names[0]} is ${said[0]}, that of ${names[1]} ${said[1]}, and that of the difference ${said[2]}, with 95 % intervals.` : ".";
  $("#explore .chosen").textContent = `${amount(n)} of ${nQueries(total)} ${n === 1 ? "is" : "are"} chosen${means}`;
};

const showExplore = () => {
  const within = $("#explore");
  const both = sides();
  const names = both.map((side) => strategies[side]);
  const { name, bin } = measures[state.measure];
  const all = differences();
  const n = all.length;
  $("h2", within).textContent = `Some queries: ${names.join(" against ")}`;
  for (const part of [".note", ".chosen", ".legend"]) $(part, within).hidden = !n;
  if (!say(within, n ? null : "There is no query in which all strategies have a value.")) return;
  $(".note", within).textContent =
    `A rectangle drawn in any of the views chooses queries, and a click beside it all of them; so do differences of ${name} that are typed. Means and intervals are of those.` +
    (queries.length < page.total ? ` These are the ${nQueries(queries.length)} that are here, not all ${amount(page.total)}.` : "");
  showSides(within, names.map((side, i) => `${ROLES[i]}: ${side}`), twoColours(...both));
  const [rows, words] = exploredRows(all, both, bin);
  const typed = { least: state.least ?? -1e300, greatest: state.greatest ?? 1e300 };
  const after = (view) => {
    sayChosen(n, names);
    const again = () => setTimeout(() => sayChosen(n, names)); // what is printed has changed by then
    if (view.says) return;
    view.says = true;
    for (const signal of ["brush_explored", "least", "greatest"]) view.addSignalListener(signal, again);
  };
  const said = `${nQueries(n)} as points of ${names[0]} (first) against ${names[1]} (second), as a histogram of their differences, and as bars by falling difference; the means of those that are chosen stand above the chart.`;
  // A rectangle is of the queries that it was drawn over: with others the chart is made anew.
  draw($(".chart", within), { key: `${state.measure} ${both}`, spec: specs.explore, rows, said, signals: { ...words, bin, ...typed }, after });
};
