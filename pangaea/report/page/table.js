// The table of candidates: the first hundred of what was asked for, and more when wanted.

const [FIRST, MORE] = [100, 500];
const view = { sort: 2, down: true, rows: FIRST };

// Each with the value that it is sorted by, and whether it starts with the greatest. Scores are
// sorted by how good they are: what is best comes first, whatever the goal.
const COLUMNS = [
  ["#", (row) => row[0], false],
  ["function", (row) => row[2], false],
  ["search", (row) => worth(row[3]), true],
  ["gain", (row) => gain(row), true],
  ["full", ([, text]) => known(report().full, text)?.[0] ?? null, true],
  ["test", (row) => worth(testOf(row)?.mean ?? null), true],
  ["seconds", (row) => row[4], false],
  ["mutation", (row) => row[6], false],
  ["failure", (row) => row[7], true],
  ["copy", null],
];

const STYLES = ["number", "formula", ...Array(5).fill("number"), "made", "made", "copy"];

// So that larger is better.
function worth(score) {
  return score === null ? null : report().goal.maximised ? score : -score;
}

function gain([, , , score]) {
  const baseline = report().baseline.score;
  return score === null || baseline === null ? null : worth(score) - worth(baseline);
}

// The best functions can be copied as source too.
function copiesOf(number) {
  return report().details.find((detail) => detail.number === number)?.copies ?? {};
}

function testOf(row) {
  return report().headline.tested.find((tested) => tested.function === row[1]);
}

// A text may be the name of something that every object has.
function known(values, text) {
  return Object.hasOwn(values, text) ? values[text] : null;
}

function showTable(count = view.rows) {
  view.rows = count;
  const wanted = find("filter").value.trim().toLowerCase();
  const rows = report().rows.filter((row) =>
    [0, 1, 2, 6, 7].some((i) => String(row[i] ?? "").toLowerCase().includes(wanted)),
  );
  const value = COLUMNS[view.sort][1];
  rows.sort((a, b) => order(value(a), value(b)) * (view.down ? -1 : 1) || a[0] - b[0]);
  find("table").tHead.replaceChildren(make("tr", {}, ...COLUMNS.map(heading)));
  find("table").tBodies[0].replaceChildren(...rows.slice(0, view.rows).map(candidate));
  find("legend").textContent = legend();
  find("count").textContent = `${rows.length} of ${report().rows.length} candidates`;
  find("more").hidden = rows.length <= view.rows;
}

// What is missing comes first when rising, and so last when falling.
function order(a, b) {
  if (a === null || b === null) return (a !== null) - (b !== null);
  return typeof a === "string" ? a.localeCompare(b) : a - b;
}

function heading([name, value], column) {
  const cell = make("th", { scope: "col", className: STYLES[column] });
  if (value === null) {
    cell.textContent = name;
    return cell;
  }
  if (column === view.sort) cell.ariaSort = view.down ? "descending" : "ascending";
  cell.append(make("button", { textContent: name, onclick: () => sortBy(column) }));
  return cell;
}

function sortBy(column) {
  view.down = column === view.sort ? !view.down : COLUMNS[column][2];
  view.sort = column;
  showTable();
}

function candidate(row) {
  const [number, text, readable, score, seconds, parent, mutation, failure, detail, latex, runs] =
    row;
  const test = testOf(row);
  const cells = [
    number,
    readable,
    score === null ? "" : score.toFixed(report().goal.digits),
    signed(gain(row)),
    known(report().full, text)?.[1] ?? "",
    test ? `${test.shown} ${test.stars}` : "",
    seconds.toFixed(1),
    parent === null ? mutation : `${mutation} of ${parent}`,
    failure ?? "",
    "",
  ].map((cell, i) => make("td", { textContent: cell, className: STYLES[i] }));
  if (runs > 1) cells[2].title = `of ${runs} runs: the mean of the longest`;
  if (detail) cells[8].title = detail;
  const copies = { text, LaTeX: latex, ...copiesOf(number) };
  cells[9].append(...Object.entries(copies).flatMap(([label, what]) => [copier(label, what), " "]));
  return make("tr", { className: failure ? "failed" : "" }, ...cells);
}

function signed(value) {
  if (value === null) return "";
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(report().goal.digits);
}

// What the columns are.
function legend() {
  const lines = Object.entries(report().columns).map(([name, what]) => `${name}: ${what}`);
  return `${lines.join(". ")}. gain: by how much search is better than ${report().baseline.name}.`;
}

function copier(label, text) {
  const button = make("button", { textContent: label, title: text, disabled: !text });
  button.onclick = async () => {
    await copy(text);
    button.textContent = "copied";
    setTimeout(() => (button.textContent = label), 1000);
  };
  return button;
}

async function copy(text) {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
  const area = make("textarea", { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy"); // all that a page without HTTPS is allowed
  area.remove();
}
