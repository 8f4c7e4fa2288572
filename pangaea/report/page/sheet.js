// A page of figures alone.

const state = { study: 0, printing: false };

function drawSheet() {
  draw(document.querySelector("main"), page.figures);
}

// Paper is light, whatever the screen is.
function printedSheet(on) {
  state.printing = on;
  drawSheet();
}

addEventListener("beforeprint", () => printedSheet(true));
addEventListener("afterprint", () => printedSheet(false));
dark.addEventListener("change", drawSheet);
drawSheet();
