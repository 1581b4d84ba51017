"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // with a finger, dragging scrolls the page; with a mouse it zooms
  const drag = matchMedia("(hover: hover) and (pointer: fine)").matches ? "zoom" : false;
  const paper = 640;
  const charts = Array.from(document.querySelectorAll(".chart"), (place) => ({
    place,
    figures: JSON.parse(document.getElementById(place.id + "-data").textContent),
  }));

  let width = null; // of paper; none on a screen, where charts take the room there is

  function draw() {
    for (const { place, figures } of charts) {
      // plotly writes into what it is given
      const { data, layout } = structuredClone(dark.matches && !width ? figures.dark : figures.light);
      layout.dragmode = drag;
      layout.autosize = !width;
      if (width) layout.width = width;
      Plotly.react(place, data, layout, { responsive: true, displayModeBar: false });
    }
  }
  draw();
  dark.addEventListener("change", draw);
  addEventListener("beforeprint", () => {
    width = paper;
    draw();
  });
  addEventListener("afterprint", () => {
    width = null;
    draw();
  });

  const table = document.getElementById("decisions");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const search = document.getElementById("search");
  if (search) {
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const found = document.getElementById("found");
    search.closest("p").hidden = false;
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      let count = 0;
      rows.forEach((row, place) => {
        row.hidden = !texts[place].includes(wanted);
        count += !row.hidden;
      });
      found.textContent = wanted ? `${count} of ${rows.length} rows` : "";
    });
  }

  const amount = (row, column) => {
    const value = parseFloat(row.cells[column].textContent.replaceAll(",", ""));
    return Number.isNaN(value) ? -Infinity : value;
  };
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const numeric = head.classList.contains("number");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, two) =>
        numeric
          ? amount(one, column) - amount(two, column)
          : one.cells[column].textContent.localeCompare(two.cells[column].textContent);
      body.append(...rows.slice().sort((one, two) => (down ? -1 : 1) * order(one, two)));
    });
  });
})();
