"use strict";
(() => {
  // --- Tables: search and sort.
  const amount = (row, column) => {
    const value = parseFloat(row.cells[column].textContent.replaceAll(",", ""));
    return Number.isNaN(value) ? -Infinity : value;
  };

  for (const table of document.querySelectorAll("table[id]")) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const search = document.getElementById("search-" + table.id);
    if (search) {
      const texts = rows.map((row) => row.textContent.toLowerCase());
      const found = document.getElementById("found-" + table.id);
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
    const heads = table.tHead.rows[0].cells;
    Array.from(heads).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      const numeric = head.classList.contains("number");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const order = (one, two) =>
          numeric
            ? amount(one, column) - amount(two, column)
            : one.cells[column].textContent.localeCompare(two.cells[column].textContent);
        body.append(...rows.slice().sort((one, two) => (down ? -1 : 1) * order(one, two)));
      });
    });
  }

  // --- Items: one is shown, picked by name or by a link in the table.
  const picker = document.getElementById("picker");
  const items = Array.from(document.querySelectorAll("details.item"));
  const show = (id) => {
    const wanted = items.find((item) => item.id === id);
    if (!wanted) return;
    for (const item of items) item.open = item === wanted;
    if (picker) picker.value = id;
  };
  if (picker) {
    picker.closest("p").hidden = false;
    document.getElementById("items").classList.add("picked");
    picker.addEventListener("change", () => show(picker.value));
  }
  const follow = () => {
    show(location.hash.slice(1));
    // what a link leads to may be folded
    const place = location.hash && document.getElementById(location.hash.slice(1));
    const fold = place && place.querySelector(":scope > details:not(.item)");
    if (fold && place.id === "statistics") fold.open = true;
  };
  addEventListener("hashchange", follow);
  follow();

  // --- Charts: numbers under the mouse or the finger, and a legend that hides lines.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;

  const points = (path) =>
    Array.from(path.getAttribute("d").matchAll(/[ML](-?\d+) /g), (found) => +found[1]);

  for (const plot of document.querySelectorAll(".plot")) {
    let lines = null;
    const move = (event) => {
      // read when first wanted: a page may have hundreds of charts
      if (lines === null) {
        let names = "";
        lines = Array.from(plot.querySelectorAll("[data-y]"), (path) => ({
          group: path.parentNode,
          label: path.dataset.label,
          places: points(path),
          x: (names = path.dataset.x ?? names).split("|"), // those of the line before
          y: path.dataset.y.split("|"),
        }));
      }
      const box = plot.getBoundingClientRect();
      const at = (1000 * (event.clientX - box.left)) / box.width;
      let nearest = null;
      for (const line of lines) {
        if (line.group.style.display === "none") continue;
        for (const place of line.places) {
          if (nearest === null || Math.abs(place - at) < Math.abs(nearest - at)) nearest = place;
        }
      }
      if (nearest === null || Math.abs(nearest - at) > 60) return hide();
      tip.replaceChildren();
      for (const line of lines) {
        const place = line.places.indexOf(nearest);
        if (place < 0 || line.group.style.display === "none") continue;
        if (!tip.firstChild) {
          const head = document.createElement("b");
          head.textContent = line.x[place];
          tip.append(head);
        }
        const row = document.createElement("div");
        row.textContent = `${line.label}: ${line.y[place]}`;
        tip.append(row);
      }
      if (tip.parentNode !== plot) plot.append(tip);
      tip.hidden = false;
      const right = nearest < 500;
      tip.style.left = right ? `calc(${nearest / 10}% + 10px)` : "auto";
      tip.style.right = right ? "auto" : `calc(${100 - nearest / 10}% + 10px)`;
      tip.style.top = "0";
    };
    const hide = () => {
      tip.hidden = true;
    };
    plot.addEventListener("pointermove", move);
    plot.addEventListener("pointerdown", move);
    plot.addEventListener("pointerleave", hide);
  }

  for (const chart of document.querySelectorAll(".chart")) {
    const panels = chart.querySelectorAll(".panel");
    for (const entry of chart.querySelectorAll(".legend li[data-line]")) {
      const [panel, line] = entry.dataset.line.split("-");
      const drawn = panels[panel].querySelector(`g[data-line="${line}"]`);
      entry.setAttribute("role", "button");
      entry.setAttribute("aria-pressed", "true");
      entry.tabIndex = 0;
      const toggle = () => {
        const shown = drawn.style.display === "none";
        drawn.style.display = shown ? "" : "none";
        entry.setAttribute("aria-pressed", String(shown));
      };
      entry.addEventListener("click", toggle);
      entry.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
    }
  }
})();
