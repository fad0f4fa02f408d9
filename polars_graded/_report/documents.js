// Shows the first documents of both strategies in the chosen query, if the page contains them.

const showDocuments = () => {
  const { inspected, entries } = page.rankings;
  const { both, names } = seen;
  const whose = state.query === null ? "" : ` in query ${seen.query}`;
  $("#documents h2 span").textContent = `: ${names.join(" and ")}${whose}`;
  const entry = entries[inspected.indexOf(state.query)];
  const absent = state.query === null
    ? "Choose a query to see its documents."
    : "The page has no documents of this query, since it contains those of some queries only.";
  if (say("documents", entry ? "" : absent)) return;
  const documents = records(page.rankings.columns, entry.documents);
  const shown = both.map((s) => (entry.ranked[s] ?? []).map((at) => documents[at]));
  // The higher the grade, the more of its cell is filled.
  const most = Math.max(...documents.map(({ grade }) => grade));
  $("#documents table").style.setProperty("--most", most > 0 ? most : 1);
  const columns = both.flatMap((s, i) => {
    const value = (rank) => shown[i][rank];
    const cell = (title, form, more) =>
      ({ title, value, form: (document) => (document ? form(document) : ""), ...more });
    const called = ({ document, title }) => [
      element("span", document, { class: "document" }),
      element("small", title ?? "", { class: "title" }),
    ];
    const filled = (rank) => ({ class: "grade", style: `--grade: ${value(rank)?.grade ?? 0}` });
    const other = (document) => String(shown[1 - i].indexOf(document) + 1 || "–");
    return [
      cell([named(names[i])], called, { look: "text" }),
      cell("grade", ({ grade }) => String(grade ?? "–"), { cell: filled }),
      ...(both.length > 1 ? [cell(`rank with ${names[1 - i]}`, other)] : []),
    ];
  });
  const ranks = [...Array(Math.max(1, ...shown.map(({ length }) => length))).keys()];
  table("documents", [{ title: "Rank", value: (rank) => rank + 1 }, ...columns], ranks);
  const rows = both.flatMap((s, i) =>
    shown[i].map((document, rank) => ({ strategy: names[i], rank: rank + 1, ...document })));
  const kept = ["strategy", "rank", ...page.rankings.columns];
  keepRows("documents", kept.map((name) => column(name)), rows);
};
