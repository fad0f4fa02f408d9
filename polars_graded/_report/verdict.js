// What the numbers say: who leads, what there was to measure, how sure the order is.

const showVerdict = () => {
  const within = part("verdict", measures.length);
  if (!within) return;
  // Tests and intervals are of all pairs, whoever is chosen to be looked at.
  const left = strategies.length - state.chosen.size;
  const whose = `Of all ${amount(strategies.length)} strategies, the ${amount(left)} that ${left === 1 ? "is" : "are"} not chosen among them: `;
  $("p", within).replaceChildren(...(left ? [whose] : []), ...sentence(measures[state.measure].verdict));
};

const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(1)} %`);

const showOverview = () => {
  const within = part("overview", page.overview);
  if (!within) return;
  const { columns, rows, note } = page.overview;
  const forms = {
    count: (n) => (n === null ? "–" : String(n)),
    share: percent,
    grades: (grades) => (grades ?? []).map(([grade, n]) => `${grade ?? "unjudged"}: ${n}`).join(" · "),
  };
  $(".note", within).textContent = note;
  const found = columns.map(([name, form], i) => ({
    title: name,
    name,
    value: (row) => row[i + 1],
    form: forms[form],
    ...(form === "grades" ? { cell: () => ({ class: "text" }) } : {}),
  }));
  // What is the same of all strategies is said once.
  const isSame = ({ value }) => rows.every((row) => JSON.stringify(value(row)) === JSON.stringify(value(rows[0])));
  const same = found.filter(isSame);
  definitions($("dl", within), same.map(({ title, value, form }) => [title, form(value(rows[0]))]));
  $(".all", within).hidden = !same.length;
  $(".all p", within).hidden = rows.length < 2;
  $(".scroll", within).hidden = same.length === found.length;
  const strategy = { title: "Strategy", name: "strategy", value: ([name]) => name, form: (name) => named(name ?? "null") };
  // Those that are the same are saved all the same.
  const all = found.map((column) => (same.includes(column) ? { ...column, title: undefined } : column));
  table("overview", "What was ranked and judged", [strategy, ...all], rows);
};

const showCertainty = () => {
  const within = part("certainty", page.certainty.length);
  if (!within) return;
  const needed = (n) => (n === null ? "more than there are" : amount(n));
  const [power, share] = [page.power, page.share].map((each) => `${Math.round(100 * each)} %`);
  const mine = page.certainty.find(({ measure }) => measure === state.measure);
  $(".note", within).textContent = mine
    ? `With ${nQueries(mine.queries)}, ${measures[mine.measure].name} shows a difference of ${written(mine.smallest)} or more with a probability of ${power}${mine.step === null ? " " : "; "}` +
      `${mine.step === null ? "" : `one of ${written(mine.step)}, ${share} of the best mean, takes ${needed(mine.needed)} queries `}(paired t test of one pair at ${page.alpha}, with the variance that these strategies have). ` +
      `${mine.apart} of ${counted(mine.pairs, "pair is", "pairs are")} told apart, ${page.corrected} ≤ ${page.alpha}.` +
      (mine.stability ? " The last column is Kendall's τ between the order from half of the queries and that from all, and where 95 % of such halves lie." : "")
    : `There is nothing to say of ${measures[state.measure]?.name}: it does not vary, or has no better side.`;
  const minus = (text) => String(text).replaceAll("-", "\u2212");
  const tau = (order) => (order ? minus(`${order[0].toFixed(2)} (${order[1].toFixed(2)} to ${order[2].toFixed(2)})`) : "–");
  const columns = [
    { title: "Measure", name: "measure", value: (row) => measures[row.measure].name, head: { class: "text" } },
    { title: "Queries", name: "queries", value: (row) => row.queries },
    { title: "Smallest difference shown", name: "smallest_difference", value: (row) => row.smallest, form: written },
    { title: `${share} of the best mean`, name: "difference", value: (row) => row.step, form: written },
    { title: "Queries to show that", name: "queries_needed", value: (row) => row.needed, form: (n, { step }) => (step === null ? "–" : needed(n)) },
    { title: "Pairs told apart", name: "told_apart", value: (row) => row.apart, form: (n, { pairs: all }) => `${n} of ${all}` },
    { name: "pairs", value: (row) => row.pairs },
    { title: "Order from half the queries", value: (row) => row.stability, form: tau },
    ...["tau", "tau_low", "tau_high"].map((name, i) => ({ name, value: (row) => row.stability?.[i] })),
  ];
  table("certainty", "How sure the order is", columns, page.certainty, (row) => (row.measure === state.measure ? { class: "chosen" } : {}));
};

const showSegments = () => {
  const within = part("segments", page.segments);
  if (!within) return;
  const { note, rows } = page.segments.measures[state.measure];
  $(".note", within).textContent = `${measures[state.measure].name}, the best of each row in bold. ${note}`;
  const { title } = page.segments;
  const columns = [
    { title, name: title, value: ([segment]) => segment, form: named, head: { class: "text" } },
    { title: "Queries", name: "queries", value: ([, n]) => n },
    ...strategies.map((name, s) => ({
      title: called(s), name, value: ([, , means]) => means[s], form: written,
      cell: ([, , , bests]) => (bests.includes(s) ? { class: "best" } : {}),
    })),
  ];
  table("segments", "Means in segments", columns, rows);
};
