// The first documents of both strategies in the query that is chosen, where the page has them.

const showDocuments = () => {
  const within = $("#documents");
  within.hidden = !rankings;
  if (!rankings) return;
  const { query } = state;
  const both = (comparable ? sides() : [0]).filter((s) => s !== undefined);
  const names = both.map((s) => strategies[s]);
  $("h2", within).textContent = `Documents: ${names.join(" and ")}${query === null ? "" : ` in query ${queries[query]}`}`;
  const place = query === null ? -1 : rankings.there.indexOf(query);
  const few = rankings.there.length < queries.length ? ` The page has those of ${nQueries(rankings.there.length)}, at equal steps in their order.` : "";
  $(".note", within).textContent =
    query === null
      ? `Choose a query to see the first ${rankings.ranks} documents that each strategy has for it.${few}`
      : place < 0
        ? `The page does not have the documents of this query.${few}`
        : `The first ${rankings.ranks} documents${both.length > 1 ? " of each" : ""} and their grades, – where one was not judged` +
          (both.length > 1 ? "; beside each its rank with the other strategy, – where that has it further down or not at all." : ".");
  $(".scroll", within).hidden = place < 0;
  $(".save", within).hidden = place < 0;
  if (place < 0) {
    $(".wide", within).hidden = true;
    return;
  }
  const { documents, ranked: lists } = rankings.entries[place];
  const shown = both.map((s) => lists[s] ?? []);
  const n = Math.max(1, ...shown.map((list) => list.length));
  const head = [element("th", "Rank", { scope: "col", rowspan: 2 })];
  const below = [];
  both.forEach((s, i) => {
    const label = both.length > 1 ? `${"AB"[i]}: ` : "";
    head.push(element("th", [label, called(s)], { scope: "colgroup", colspan: both.length > 1 ? 3 : 2, class: "text" }));
    below.push(element("th", "document", { scope: "col", class: "text" }), element("th", "grade", { scope: "col" }));
    if (both.length > 1) below.push(element("th", `rank in ${"BA"[i]}`, { scope: "col" }));
  });
  const most = Math.max(0, ...documents.map((document) => document.at(-1)));
  const rows = Array.from({ length: n }, (_, rank) => {
    const cells = shown.flatMap((list, i) => {
      const at = list[rank];
      if (at === undefined) return Array.from({ length: both.length > 1 ? 3 : 2 }, () => element("td", ""));
      const [name, ...rest] = documents[at];
      const grade = rest.at(-1);
      const title = rest.length > 1 ? [element("small", rest[0], { class: "title" })] : [];
      const other = both.length > 1 ? shown[1 - i].indexOf(at) : -1;
      // The higher the grade, the more of its field is filled.
      const filled = grade > 0 && most > 0 ? { style: `--share: ${Math.round((100 * grade) / most)}%` } : {};
      return [
        element("td", [element("span", name, { class: "document" }), ...title], { class: "text" }),
        element("td", grade === null ? "–" : String(grade), { class: "grade", ...filled }),
        ...(both.length > 1 ? [element("td", other < 0 ? "–" : String(other + 1))] : []),
      ];
    });
    return element("tr", [element("th", String(rank + 1), { scope: "row" }), ...cells]);
  });
  table(within, "Documents side by side", [element("tr", head), element("tr", below)], rows);
};
const documentNumbers = () => {
  const place = rankings.there.indexOf(state.query);
  const both = (comparable ? sides() : [0]).filter((s) => s !== undefined);
  const { documents, ranked: lists } = rankings.entries[place];
  return [
    ["strategy", "rank", "document", ...(documents[0]?.length > 2 ? ["title"] : []), "grade"],
    ...both.flatMap((s) => (lists[s] ?? []).map((at, rank) => [strategies[s], rank + 1, ...documents[at]])),
  ];
};
