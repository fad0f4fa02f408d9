// Shows the means of some queries: of a rectangle in any view, or between two differences.

// Returns a sentence with the means and intervals of the chosen queries, which the chart computed.
const sayChosen = () => {
  const texts = [...document.querySelectorAll("#explore .mark-text.role-mark text")];
  const drawn = texts.map((text) => text.__data__.datum);
  const n = drawn.find(({ caption }) => caption)?.queries ?? 0;
  const interval = ({ low, high }) => (low === null ? "" : ` [${written(low)}, ${written(high)}]`);
  const means = drawn.filter(({ what }) => what).map((row) => written(row.mean) + interval(row));
  const [first, second] = seen.names;
  const intervals = drawn.some(({ what, low }) => what && low !== null) ? ", with 95 % intervals" : "";
  const sentence = `: the mean of ${first} is ${means[0]}, that of ${second} ${means[1]}, ` +
    `and that of the difference ${means[2]}${intervals}.`;
  const share = `${amount(n)} of ${nQueries(seen.rows.length)} ${n === 1 ? "is" : "are"} chosen`;
  $("#explore .chosen").textContent = share + (means.length ? sentence : ".");
};
new MutationObserver(sayChosen).observe($("#explore .chart"), { childList: true, subtree: true });

const showExplore = () => {
  const { names, rows, both, measure: { bin } } = seen;
  $("#explore h2").textContent = `Some queries: ${names.join(" against ")}`;
  if (say("explore", rows.length ? "" : NONE)) return;
  legendOfBoth("explore", [`first: ${names[0]}`, `second: ${names[1]}`]);
  // The position of a query in its bin.
  const full = new Map();
  for (const row of rows.toReversed()) {
    row.middle = Math.round(row.difference / bin) * bin;
    row.place = (full.get(row.middle) ?? 0) + 1;
    full.set(row.middle, row.place);
  }
  const [least, greatest] = ENDS.map((end) => $(`#${end}`).value);
  const signals = { bin, least: Number(least || -1e300), greatest: Number(greatest || 1e300) };
  const description = `${nQueries(rows.length)} as points of ${names[0]} (first) against ${names[1]} ` +
    "(second), as a histogram of their differences, and as bars by falling difference; the means " +
    "of the chosen queries are above the chart.";
  // A rectangle belongs to the queries below it, so for other queries the chart is drawn again.
  const key = `${state.measure} ${both}`;
  draw($("#explore .chart"), { key, spec: specs.explore, rows, description, signals });
};
