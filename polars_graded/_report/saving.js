// Saves tables as CSV, and charts as SVG and PNG.

// Writes rows of numbers and texts. Values of single queries have 24 bits, or seven digits.
const csv = (rows) => {
  const cell = (value) => {
    if (Array.isArray(value)) return cell(value.map((pair) => pair.join(": ")).join("; "));
    if (value == null || Number.isNaN(value)) return "";
    const number = typeof value === "number" && !Number.isInteger(value);
    const text = String(number ? Number(value.toPrecision(7)) : value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
};

const FORMATS = {
  CSV: ({ id }) => new Blob([csv(savedRows.get(id))], { type: "text/csv" }),
  SVG: async (_, view) => new Blob([await view.toSVG()], { type: "image/svg+xml" }),
  PNG: async (_, view) => {
    const canvas = await view.toCanvas(2);
    return new Promise((done) => canvas.toBlob(done));
  },
};
// A button is named by its format, and the element around it by the file.
for (const format of document.querySelectorAll(".save button")) {
  format.addEventListener("click", async () => {
    const { view } = $(".chart", format.closest("figure, section")) ?? {};
    const content = await FORMATS[format.textContent](format.closest("section"), view);
    const href = URL.createObjectURL(content);
    const name = `${format.parentElement.dataset.name}.${format.textContent.toLowerCase()}`;
    element("a", "", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  });
}
