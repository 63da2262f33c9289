"use strict";
document.querySelectorAll(".stack").forEach((stack) => {
  const slider = stack.querySelector("input");
  const cut = () => stack.style.setProperty("--cut", `${slider.value}%`);
  slider.addEventListener("input", cut);
  cut();
});

document.querySelectorAll("th[data-key]").forEach((header, column) => {
  header.querySelector("button").addEventListener("click", () => {
    const ascending = header.getAttribute("aria-sort") !== "ascending";
    const table = header.closest("table");
    table.querySelectorAll("th[data-key]").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const body = table.tBodies[0];
    const key = (row) => row.children[column].dataset.sort;
    const rank = (a, b) => {
      // A row without a value stays last in both directions.
      if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
      return (Number(key(a)) - Number(key(b))) * (ascending ? 1 : -1);
    };
    body.append(...[...body.rows].sort(rank));
  });
});

const zoom = document.getElementById("zoom");
if (zoom) {
  const stacks = [...document.querySelectorAll(".stack")];
  const all = (name, value) => stacks.forEach((stack) => stack.style.setProperty(name, value));
  zoom.addEventListener("input", () => all("--zoom", zoom.value));
  stacks.forEach((stack) => stack.addEventListener("pointermove", (event) => {
    // Every picture turns to the same place, so that one detail can be compared in all of them.
    if (zoom.value === "1") return;
    const box = stack.getBoundingClientRect();
    all("--x", `${(100 * (event.clientX - box.left)) / box.width}%`);
    all("--y", `${(100 * (event.clientY - box.top)) / box.height}%`);
  }));
}
