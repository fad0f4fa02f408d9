// The first documents of both strategies in the query that is chosen, where the page has them.

const showDocuments = () => {
  const within = part("documents", rankings);
  if (!within) return;
  const { query } = state;
  const both = (comparable ? sides() : [0]).filter((s) => s !== undefined);
  const two = both.length > 1;
  const names = both.map((s) => strategies[s]);
  $("h2", within).textContent = `Documents: ${names.join(" and ")}${query === null ? "" : ` in query ${queries[query]}`}`;
  const place = query === null ? -1 : rankings.there.indexOf(query);
  const few = rankings.there.length < queries.length ? ` The page has those of ${nQueries(rankings.there.length)}, at equal steps in their order.` : "";
  $(".note", within).textContent =
    query === null
      ? `Choose a query to see the first ${rankings.ranks} documents that each strategy has for it.${few}`
      : place < 0
        ? `The page does not have the documents of this query.${few}`
        : `The first ${rankings.ranks} documents${two ? " of each" : ""} and their grades, – where one was not judged` +
          (two ? "; beside each its rank with the other strategy, – where that has it further down or not at all." : ".");
  for (const part of within.querySelectorAll(".scroll, .save")) part.hidden = place < 0;
  if (place < 0) $(".wide", within).hidden = true;
  if (place < 0) return;
  const entry = rankings.entries[place];
  const documents = entry.documents.map(([name, ...rest]) => ({ name, grade: rest.at(-1), title: rest.length > 1 ? rest[0] : undefined }));
  const shown = both.map((s) => entry.ranked[s] ?? []);
  const most = Math.max(0, ...documents.map(({ grade }) => grade));
  const columns = both.flatMap((s, i) => {
    const at = (rank) => shown[i][rank];
    const there = (rank) => documents[at(rank)];
    const call = ({ name, title }) => [element("span", name, { class: "document" }), ...(title === undefined ? [] : [element("small", title, { class: "title" })])];
    // The higher the grade, the more of its field is filled.
    const filled = ({ grade }) => (grade > 0 && most > 0 ? { style: `--share: ${Math.round((100 * grade) / most)}%` } : {});
    const column = (title, form, cell, head) => ({
      title,
      head,
      value: there,
      form: (document, rank) => (document ? form(document, rank) : ""),
      cell: (rank) => (there(rank) ? cell(there(rank)) : {}),
    });
    const inOther = (_, rank) => {
      const other = shown[1 - i].indexOf(at(rank));
      return other < 0 ? "–" : String(other + 1);
    };
    return [
      column([called(s)], call, () => ({ class: "text" }), { class: "text" }),
      column("grade", ({ grade }) => (grade === null ? "–" : String(grade)), (document) => ({ class: "grade", ...filled(document) })),
      ...(two ? [column(`rank with ${names[1 - i]}`, inOther, () => ({}))] : []),
    ];
  });
  const ranks = [...Array(Math.max(1, ...shown.map((list) => list.length))).keys()];
  table("documents", "Documents side by side", [{ title: "Rank", value: (rank) => rank + 1 }, ...columns], ranks);
  const rows = both.flatMap((s, i) => shown[i].map((at, rank) => ({ strategy: strategies[s], rank: rank + 1, document: documents[at].name, ...documents[at] })));
  const saved = ["strategy", "rank", "document", ...(documents[0]?.title === undefined ? [] : ["title"]), "grade"];
  keepRows("documents", saved.map((name) => ({ name, value: (row) => row[name] })), rows);
};
