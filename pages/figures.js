// Draws the figures of a page when they come into sight, in the colours that the page has.

const here = document.currentScript.src;

function template() {
  const scheme = document.body.getAttribute("data-md-color-scheme");
  return scheme === "slate" ? THEMES.dark : THEMES.light;
}

function draw(figure) {
  const { data, layout } = JSON.parse(figure.querySelector("script").textContent);
  const plot = figure.querySelector(".plot");
  delete layout.title;
  delete layout.height;
  plot.style.minWidth = `${layout.meta.least}px`;
  layout.template = template();
  layout.margin = { t: 12, ...layout.margin };
  layout.dragmode = false; // a finger scrolls the page
  Plotly.react(plot, data, layout, { responsive: true, displayModeBar: false });
}

function prepare(figures) {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        seen.unobserve(target);
        draw(target);
      }
    }
  });
  figures.forEach((figure) => seen.observe(figure));
  new MutationObserver(() => {
    figures.filter((figure) => figure.querySelector(".main-svg")).forEach(draw);
  }).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}

// A megabyte, so only where there is something to draw.
addEventListener("DOMContentLoaded", () => {
  const figures = [...document.querySelectorAll("figure.drawn")];
  if (!figures.length) return;
  const plotly = document.createElement("script");
  plotly.src = new URL("plotly-basic.min.js", here).href;
  plotly.onload = () => prepare(figures);
  document.head.append(plotly);
});
