// Charts are drawn by the one script that the book has, and found again in the gallery.

"use strict";

// A page that is a file cannot read other pages: what they say comes with the search.
if (location.protocol === "file:" && typeof TEXTS !== "undefined") {
  window.fetch = async (address) => {
    const page = decodeURI(String(address)).replace(/^\.\//, "").replace(/[#?].*$/, "");
    return new Response(`<div role="main">${TEXTS[page] ?? ""}</div>`);
  };
}

async function draw(holder) {
  const spec = JSON.parse(holder.querySelector("script").textContent);
  const { view } = await vegaEmbed(holder, spec, { actions: false, renderer: "svg" });
  // A rectangle that is drawn would not go with a picture that is shrunk.
  if (!spec.vconcat) holder.classList.add("fits");
  return view;
}

async function drawAll() {
  const gallery = document.querySelector(".thumbnails");
  for (const holder of document.querySelectorAll(".chart")) {
    const view = await draw(holder);
    if (gallery) {
      await thumbnail(gallery, holder.closest("section"), view);
    }
  }
  document.documentElement.dataset.charts = "drawn";
}

async function thumbnail(gallery, section, view) {
  const link = document.createElement("a");
  link.href = `#${section.id}`;
  const picture = document.createElement("img");
  picture.src = await view.toImageURL("svg");
  picture.alt = "";
  link.append(picture, section.querySelector("h2, h3").firstChild.textContent);
  gallery.append(link);
}

// The code of a cell, not what it printed, goes to the clipboard.
function offerCopies() {
  for (const code of document.querySelectorAll(".cell_input .highlight, .highlight-python .highlight, .highlight-text .highlight")) {
    if (code.querySelector(".copy")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.querySelector("pre").textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    code.append(button);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  offerCopies();
  drawAll();
});
