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
})();
