"use strict";
// Everything a page shows comes from one JSON object, and every text of it is set as text, never
// as HTML.

const page = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);

function make(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// Figures: Plotly's data, drawn as it suits the window.

const dark = matchMedia("(prefers-color-scheme: dark)");
const touch = matchMedia("(pointer: coarse)").matches;
const OPTIONS = {
  responsive: true,
  displaylogo: false,
  showSendToCloud: false, // what a study holds stays on its machine
  plotlyServerURL: "",
  displayModeBar: touch ? false : "hover",
  modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
};

// Plotly takes a transparent paper for a black one: a dark bar over what is drawn.
const MODEBAR = { bgcolor: "#0000", color: "#8889", activecolor: "#888" };

function draw(place, specs) {
  while (place.children.length > specs.length) {
    Plotly.purge(place.lastChild.querySelector(".plot"));
    place.lastChild.remove();
  }
  queue = queue.filter((job) => job.place !== place);
  specs.forEach((spec, i) => {
    const card = place.children[i] ?? place.appendChild(emptyCard());
    const { title, caption, span, empty, least } = spec.layout.meta;
    card.className = span ?? "";
    card.querySelector("h2").textContent = title;
    card.querySelector("p").textContent = caption;
    const plot = card.querySelector(".plot");
    plot.hidden = Boolean(empty);
    plot.style.height = `${spec.layout.height}px`;
    plot.style.minWidth = `${least}px`;
    if (!empty) queue.push({ place, plot, spec });
  });
  if (state.printing) while (queue.length) plotNext();
  else setTimeout(work);
}

// Figures that wait: drawn one by one, so that what is above them is seen and can be used.
let queue = [];

function work() {
  if (!queue.length) return;
  plotNext();
  setTimeout(work);
}

function plotNext() {
  const { plot, spec } = queue.shift();
  if (!plot.offsetParent) return; // its tab was left; it is drawn when that is shown again
  Plotly.react(plot, ...suited(spec, plot), OPTIONS);
  if (plot.clientWidth !== plot._fullLayout.width) Plotly.Plots.resize(plot);
}

function emptyCard() {
  return make("figure", {}, make("h2"), make("p"), make("div", { className: "plot" }));
}

// A figure as it suits this window: its colours, and no labels that do not fit.
function suited(spec, plot) {
  const narrow = plot.clientWidth < 560;
  const data = spec.data.map((trace) =>
    narrow && trace.meta?.wide ? { ...trace, mode: trace.mode.replace("+text", "") } : trace,
  );
  const layout = structuredClone(spec.layout);
  delete layout.title;
  delete layout.height; // a figure fills its place, whatever becomes of the window
  layout.template = dark.matches && !state.printing ? page.dark : page.light;
  layout.margin = { t: 12, ...layout.margin };
  layout.modebar = MODEBAR;
  if (state.printing) layout.width = plot.clientWidth; // paper does not wait for a resize
  layout.uirevision = state.study; // what a person zoomed into stays when new data comes
  if (touch) layout.dragmode = false; // a finger scrolls the page
  return [data, layout];
}
